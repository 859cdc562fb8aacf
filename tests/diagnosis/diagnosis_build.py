"""Small catalogues for the tests of the diagnosis."""

from __future__ import annotations

from distkb.catalogue.model import (
    Catalogue,
    Cause,
    Entry,
    Fact,
    FactValue,
    Family,
    Finding,
    Fix,
    Likelihood,
    Prior,
    Role,
    Signature,
    Step,
    Text,
    Words,
)
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.likelihood import LikelihoodTable
from distkb.evidence.observation import Observation, Quote


def text(words: str) -> Text:
    """The same words for both languages."""
    return Text(en=words, ko=words)


def signature(
    name: str, role: Role = "primary", background: Likelihood = "never", group: str | None = None
) -> Signature:
    """A signature whose pattern is its name."""
    return Signature(id=name, pattern=name, role=role, means=text(name), background=background, group=group)


def cause(name: str, evidence: dict[str, Likelihood], prior: Prior = "common") -> Cause:
    """A cause with one fix."""
    fix = Fix(id=f"{name}.1", title=text("fix"), steps=(text("do"),), cost="edit", risk="none", verify=text("see"))
    return Cause(
        id=name,
        title=text(name),
        explanation=text(name),
        prior=prior,
        evidence={word: tuple(o for o, given in evidence.items() if given == word) for word in evidence.values()},
        fixes=(fix,),
    )


def entry(name: str, *causes: Cause, family: Family = "hangs") -> Entry:
    """An entry with these causes."""
    return Entry(
        id=name,
        slug=name.lower(),
        family=family,
        status="draft",
        since="0.1.0",
        title=text(name),
        aliases=Words(),
        summary=text(name),
        symptoms=(text(name),),
        causes=causes,
        references=(),
    )


SYMPTOM = Fact(
    id="symptom",
    question=text("what"),
    why=text("why"),
    values=(
        FactValue(value="hang", label=text("hang"), share=0.5),
        FactValue(value="crash", label=text("crash"), share=0.3),
        FactValue(value="slow", label=text("slow"), share=0.2),
    ),
)


def table(
    *entries: Entry, signatures: tuple[Signature, ...] = (), findings: tuple[Finding, ...] = ()
) -> LikelihoodTable:
    """The likelihoods of a small catalogue with the fact `symptom`."""
    return LikelihoodTable(entries, signatures, findings, (SYMPTOM,))


def guide(
    *entries: Entry,
    signatures: tuple[Signature, ...] = (),
    findings: tuple[Finding, ...] = (),
    steps: tuple[Step, ...] = (),
) -> Guide:
    """A small catalogue with the fact `symptom`, prepared for sessions."""
    records = Catalogue(
        entries=entries, signatures=signatures, findings=findings, steps=steps, facts=(SYMPTOM,), terms=()
    )
    return Guide(records)


def seen(
    name: str, *, rank: int | None = None, time: float | None = None, certainty: float = 1.0, present: bool = True
) -> Observation:
    """An observation from a log, with one quote."""
    quote = Quote(text=name, path="log", line=1, rank=rank, time=time)
    return Observation(id=name, source="log", certainty=certainty, present=present, quotes=(quote,))


def ask(name: str, *reveals: str, seconds: float = 10.0) -> Step:
    """A question."""
    return Step(id=name, kind="ask", text=text(name), reveals=reveals, seconds=seconds)
