"""Questions to a person, derived from data: one per fact, and one about lines of the output.

A question about lines offers the messages of the catalogue that would tell the leading causes apart best.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Literal

import msgspec

from distkb.catalogue.model import Fact, Signature, Step, Text
from distkb.diagnosis.session import Answered, DontKnow

LINES = "lines"
"""Id of the question about lines of the output."""

LINES_SECONDS = 30.0
"""What it costs to look for a few lines in the output."""

LINES_TEXT = Text(
    en="Which of these lines does the output contain?", ko="출력에 다음 줄이 있습니까? 있는 것을 고르세요."
)
_WHY_LINES = Text(
    en="Each of these messages is printed by some of the causes that are still possible and not by the others.",
    ko="아직 가능성이 있는 원인 가운데 일부만 출력하고 나머지는 출력하지 않는 메시지들입니다.",
)


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to choose."""

    value: str
    label: Text
    example: str | None = None
    """For a line of the output: how it looks, as printed; `label` is what it means."""
    alone: bool = False
    """Where several may be chosen: it excludes every other one."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Something to ask a person. Make the event with `answer` or `unknown`."""

    id: str
    """The fact's name, or `lines`."""
    kind: Literal["fact", "lines"]
    text: Text
    why: Text
    options: tuple[Option, ...]
    multi: bool
    """Several options may be chosen. For lines also none: none of them was printed."""
    seconds: float

    def answer(self, *values: str) -> Answered:
        """Return the event for these options; `ValueError` for a value that is not offered or for too many or few."""
        offered = tuple(option.value for option in self.options)
        chosen = tuple(value for value in offered if value in values)
        if len(chosen) != len(set(values)):
            message = f"{self.id} offers {', '.join(offered)}"
            raise ValueError(message)
        if (len(chosen) > 1 and not self.multi) or (not chosen and self.kind == "fact"):
            message = f"{self.id} takes {'at least' if self.multi else 'exactly'} one answer"
            raise ValueError(message)
        return Answered(question=self.id, values=chosen, offered=offered if self.kind == "lines" else ())

    def unknown(self) -> DontKnow:
        """Return the event for `don't know`."""
        offered = tuple(option.value for option in self.options) if self.kind == "lines" else ()
        return DontKnow(question=self.id, offered=offered)


def fact_question(fact: Fact, left: Container[str] | None = None) -> Question:
    """Return the question that a fact asks: of all its values, or of those that what was read leaves."""
    return Question(
        id=fact.id,
        kind="fact",
        text=fact.question,
        why=fact.why,
        options=tuple(
            Option(value=v.value, label=v.label, alone=v.alone) for v in fact.values if left is None or v.value in left
        ),
        multi=fact.multi,
        seconds=fact.seconds,
    )


def lines_question(signatures: Iterable[Signature]) -> Question:
    """Return the question which of these lines the output contains."""
    return Question(
        id=LINES,
        kind="lines",
        text=LINES_TEXT,
        why=_WHY_LINES,
        options=tuple(Option(value=s.id, label=s.means, example=s.example) for s in signatures),
        multi=True,
        seconds=LINES_SECONDS,
    )


def ask_step(question: Question) -> Step:
    """Return the question of a fact as a step of the command line: with the option that answers it."""
    en = [_named(option.value, option.label.en) for option in question.options]
    ko = [_named(option.value, option.label.ko) for option in question.options]
    return Step(
        id=f"ask.{question.id.replace('_', '-')}",
        kind="ask",
        text=Text(
            en=f"{question.text.en} Answer with --fact {question.id}={', '.join(en[:-1])} or {en[-1]}.",
            ko=f"{question.text.ko} --fact {question.id}={', '.join(ko)} 가운데 하나로 알려 주세요.",
        ),
        reveals=(question.id,),
        seconds=question.seconds,
    )


def _named(value: str, label: str) -> str:
    """Return a value with what it means, where its name does not say so itself."""
    short = label.partition("(")[0].strip()
    return value if value in ("yes", "no") or value in label.lower() else f"{value} ({short})"
