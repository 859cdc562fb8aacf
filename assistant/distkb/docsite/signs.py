"""What shows a cause: its most telling signs in sentences, and a row of what one sees, what to check and the fix."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from distkb.catalogue.model import PROBABILITY, Cause, Evidence
from distkb.docsite.text import code
from distkb.report.signs import TELLS

if TYPE_CHECKING:
    from distkb.catalogue.model import Catalogue
    from distkb.docsite.text import Writer
    from distkb.locale import Say
    from distkb.report.meaning import Meanings

Kind = Literal["line", "finding", "answer", "said"]

OPEN = 3
"""Signs that stand open with a cause."""
SAID = 0.4
"""What people write in reports is worth so much of a sign that can be seen in the run itself."""
USUAL = 0.5
"""A cause is recognised by what it shows at least this often, where there is such a thing."""
CHECKS: Mapping[str, str] = {
    "allreduce": "distkb probe allreduce",
    "code": "distkb diagnose train.py stacks/",
    "config": "distkb diagnose my_project/",
    "env": "distkb probe env",
    "flight-recorder": "distkb probe flight-recorder fr/",
    "live": "from distkb_probes import live",
    "loader": "distkb probe loader --loader my_project.data:build_loader",
    "logs": "distkb diagnose logs/",
    "model": "distkb probe fsdp",
    "network": "distkb probe network",
    "run": "distkb diagnose logs/",
    "script": "distkb probe script train.py",
    "settings": "distkb probe env",
    "stacks": "distkb probe stacks",
    "trace": "distkb probe trace logs/",
}
"""What makes a finding, by the beginning of its id."""
SEEN = frozenset({"logs", "run"})
"""Findings that a reader of the output sees."""


class Signs:
    """Chooses the signs of causes."""

    def __init__(self, catalogue: Catalogue, meanings: Meanings) -> None:
        self._meanings = meanings
        self._examples = {s.id: s.example or "" for s in catalogue.signatures}
        self._printed = {s.id for s in catalogue.signatures if s.example and s.where != ("report",)}
        self._facts = {f"{fact.id}={value.value}": (fact, value) for fact in catalogue.facts for value in fact.values}
        self._ranked: dict[tuple[str, ...], list[Evidence]] = {}
        self._findings = {finding.id for finding in catalogue.findings}

    def ranked(self, cause: Cause, beside: Sequence[Cause] = ()) -> list[Evidence]:
        """Return what shows a cause, the most telling first; what causes beside it share tells less."""
        key = (cause.id, *(other.id for other in beside))
        if key not in self._ranked:
            self._ranked[key] = self._rank(cause, beside)
        return self._ranked[key]

    def _rank(self, cause: Cause, beside: Sequence[Cause]) -> list[Evidence]:
        shared = Counter(e.observation for other in beside for e in other.evidence if self._meanings.lift(e) >= TELLS)

        def worth(e: Evidence) -> float:
            told = PROBABILITY[e.likelihood] * math.log(self._meanings.lift(e))
            return told / math.sqrt(max(1, shared[e.observation])) * (SAID if self.kind(e.observation) == "said" else 1)

        speaking = [e for e in cause.evidence if self._meanings.lift(e) >= TELLS]
        return sorted(speaking, key=lambda e: (-worth(e), e.observation))

    def kind(self, observation: str) -> Kind:
        """Return what an observation is: a printed line, a finding, an answer to a question, or people's words."""
        if observation in self._facts:
            return "answer"
        if observation in self._findings:
            return "finding"
        return "line" if observation in self._printed else "said"

    def sentence(self, observation: str, write: Writer, say: Say) -> str:
        """Return what an observation says as one sentence of HTML; a fact names its question and the answer."""
        if observation not in self._facts:
            return write.inline(self._meanings.sentence(observation, say))
        fact, value = self._facts[observation]
        return write.inline(say("site.sign.answer", question=say.text(fact.question), label=say.text(value.label)))

    def rows(self, causes: Sequence[Cause], write: Writer, say: Say) -> Iterator[dict[str, str]]:
        """Yield for each cause what one sees where it is at work, and how to check that it is this one.

        Two causes are told by different things where they have any.
        """
        used: set[str] = set()
        for cause in causes:
            ranked = sorted(self.usual(cause, causes), key=used.__contains__)
            seen = next((o for o in ranked if self._is_seen(o)), None)
            seen = seen or next((o for o in ranked if self.kind(o) == "said"), None)
            checked = next((o for o in ranked if o != seen and self.kind(o) != "said"), None)
            used |= {one for one in (seen, checked) if one}
            yield {"seen": self._seen(seen, write, say), "check": self.check(checked, write, say)}

    def usual(self, cause: Cause, beside: Sequence[Cause]) -> list[str]:
        """Return what shows a cause, the most telling first; what shows seldom comes last."""
        ranked = self.ranked(cause, beside)
        return [e.observation for e in sorted(ranked, key=lambda e: PROBABILITY[e.likelihood] < USUAL)]

    def _is_seen(self, observation: str) -> bool:
        kind = self.kind(observation)
        if kind == "answer":
            return len(self._facts[observation][0].values) > 2
        return kind == "line" or (kind == "finding" and observation.partition(".")[0] in SEEN)

    def _seen(self, observation: str | None, write: Writer, say: Say) -> str:
        if observation is None:
            return ""
        return self._answer(observation, write, say) or write.inline(self._meanings.sentence(observation, say))

    def _answer(self, observation: str, write: Writer, say: Say) -> str:
        """Return a question and the answer that is meant; empty where the observation is no fact."""
        if observation not in self._facts:
            return ""
        fact, value = self._facts[observation]
        question, label = write.inline(say.text(fact.question)), write.inline(say.text(value.label))
        return f'<span class="faint">{question}</span> {label}'

    def check(self, observation: str | None, write: Writer, say: Say) -> str:
        """Return what to do to be sure: a command and what it then says, a line to look for, or a question."""
        if observation is None:
            return code("distkb diagnose logs/")
        if answer := self._answer(observation, write, say):
            return answer
        sentence = write.inline(self._meanings.sentence(observation, say))
        command = CHECKS.get(observation.partition(".")[0])
        if observation in self._findings and command:
            return f"{code(command)} {sentence}"
        return sentence
