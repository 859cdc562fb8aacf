"""Catalogues for the tests of sessions: one small enough to follow by hand, and one as large as distkb may become."""

from __future__ import annotations

from random import Random

from diagnosis_build import cause, entry, text

from distkb.catalogue.model import (
    Catalogue,
    Fact,
    FactValue,
    Finding,
    Likelihood,
    Signature,
    Step,
)
from distkb.diagnosis.guide import Guide

WORDS: tuple[Likelihood, ...] = ("always", "usually", "often", "sometimes", "rarely")


def fact(name: str, *values: str, seconds: float = 10.0, multi: bool = False, when: tuple[str, ...] = ()) -> Fact:
    """A question whose answers are equally common."""
    return Fact(
        id=name,
        question=text(name),
        why=text(f"why {name}"),
        values=tuple(FactValue(value=v, label=text(v), share=1.0 / len(values)) for v in values),
        seconds=seconds,
        multi=multi,
        when=when,
    )


def line(name: str) -> Signature:
    """A line of the output that names a failure."""
    return Signature(id=name, pattern=name, role="primary", means=text(name), example=f"an example of {name}")


def small_guide() -> Guide:
    """Four causes of three entries; `symptom` splits them in two, `place`, the lines and the stacks do the rest."""
    entries = (
        entry("D1", cause("D1.a", {"symptom=hang": "always", "place=save": "always", "stacks.odd": "always"})),
        entry("D2", cause("D2.a", {"symptom=hang": "always", "place=eval": "always", "stacks.odd": "never"})),
        entry(
            "D3",
            cause("D3.a", {"symptom=crash": "always", "its.line": "usually"}),
            cause("D3.b", {"symptom=crash": "always", "other.line": "usually"}, "uncommon"),
        ),
    )
    return Guide(
        Catalogue(
            entries=entries,
            signatures=(line("its.line"), line("other.line")),
            facts=(fact("symptom", "hang", "crash", multi=True), fact("place", "save", "eval", when=("symptom=hang",))),
            findings=(Finding(id="stacks.odd", means=text("odd"), background="sometimes", implies=("symptom=hang",)),),
            steps=(Step(id="probe.stacks", kind="probe", text=text("stacks"), reveals=("stacks.odd",), seconds=5.0),),
            terms=(),
        )
    )


def large_guide(random: Random, *, causes: int, signatures: int, facts: int) -> Guide:
    """A random catalogue: every cause states six lines and five facts, as the entries of distkb do."""
    lines = tuple(line(f"lib.line{n}") for n in range(signatures))
    questions = tuple(fact(f"fact{n}", *"abcd") for n in range(facts))
    entries = []
    for number in range(causes // 4):
        made = []
        for letter in "abcd":
            stated: dict[str, Likelihood] = {s.id: random.choice(WORDS) for s in random.sample(lines, 6)}
            for question in random.sample(questions, 5):
                stated[f"{question.id}={random.choice('abcd')}"] = random.choice(WORDS[:3])
            made.append(cause(f"D{number}.{letter}", stated))
        entries.append(entry(f"D{number}", *made))
    output = Step(id="collect.output", kind="collect", text=text("output"), reveals=("lib.line0",), seconds=40.0)
    stacks = Step(
        id="collect.stacks", kind="collect", text=text("stacks"), reveals=tuple(s.id for s in lines[:4]), seconds=60.0
    )
    return Guide(
        Catalogue(
            entries=tuple(entries),
            signatures=lines,
            facts=questions,
            findings=(),
            steps=(output, stacks),
            terms=(),
        )
    )
