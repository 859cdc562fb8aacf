"""What an observation's id means in words, for signatures, findings and intake facts alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Literal

from distkb.catalogue.model import BACKGROUND, PROBABILITY, Catalogue, Cue, Finding, Role, Signature
from distkb.evidence.observation import Observation
from distkb.locale import Say, fill

COLLECT = ("ranks", "traceback", "machine")
"""What to collect where an error was read of which no entry speaks."""
Kind = Literal["line", "finding", "answer", "said"]
"""What an observation is: a printed line, a finding, an answer to a question, or what people write in reports."""


def put_in(template: str, values: Mapping[str, str]) -> str:
    """Return a sentence of the catalogue with the values of a case put in; as it stands where one is missing."""
    try:
        return fill(template, values)
    except (KeyError, IndexError, ValueError):
        return template


class Meanings:
    """Looks up what observations mean."""

    def __init__(self, catalogue: Catalogue) -> None:
        known: list[Signature | Finding] = [*catalogue.signatures, *catalogue.findings]
        self._means = {item.id: item.means for item in known}
        self._says = {finding.id: finding.says for finding in catalogue.findings if finding.says is not None}
        self._fixes = {finding.id: finding.fix for finding in catalogue.findings if finding.fix is not None}
        self._settles = {
            finding.id for finding in catalogue.findings if finding.severity == "error" and finding.concludes
        }
        self._groups = {item.id: item.group for item in known if item.group}
        self._yields_to = {item.id: item.yields_to for item in known if item.yields_to}
        self._roles: dict[str, Role] = {item.id: item.role for item in known}
        self._endings = {signature.id for signature in catalogue.signatures if signature.ending}
        self._findings = {finding.id for finding in catalogue.findings}
        self._unexplained = {s.id for s in catalogue.signatures if "unexplained" in s.where}
        self._background = {item.id: BACKGROUND[item.background] for item in known}
        self._background.update({f"{f.id}={v.value}": v.share for f in catalogue.facts for v in f.values})
        self._values = {f"{fact.id}={v.value}": (fact, v) for fact in catalogue.facts for v in fact.values}
        self._printed = {s.id for s in catalogue.signatures if s.example and s.where != ("report",)}
        self._titles = {entry.id: entry.title for entry in catalogue.entries}
        self._titles.update({cause.id: cause.title for entry in catalogue.entries for cause in entry.causes})

    def sentence(self, observation: str, say: Say) -> str:
        """Return the meaning of an observation's id in words; the id itself where nothing is known of it."""
        if observation in self._means:
            return say.text(self._means[observation])
        if observation in self._values:
            fact, value = self._values[observation]
            if value.says is not None:
                return say.text(value.says)
            return say("report.fact", question=say.text(fact.question), label=say.text(value.label).rstrip("."))
        return observation

    def kind(self, observation: str) -> Kind:
        """Return what an observation is."""
        if observation in self._values:
            return "answer"
        if observation in self._findings:
            return "finding"
        return "line" if observation in self._printed else "said"

    def choices(self, observation: str) -> int:
        """Return how many answers the question of `fact=value` has; 0 for anything else."""
        return len(self._values[observation][0].values) if observation in self._values else 0

    def seen(self, observation: Observation, say: Say) -> str:
        """Return what was observed in one sentence; where it was looked for and is missing, the sentence says so."""
        if observation.id in self._values and observation.source in {"fact", "answer", "report"}:
            return say("report.said", label=say.text(self._values[observation.id][1].label))
        if observation.present and observation.values and observation.id in self._says:
            return put_in(say.text(self._says[observation.id]), observation.values)
        meaning = self.sentence(observation.id, say)
        if observation.id in self._values:
            return say("report.concluded" if observation.source == "probe" else "report.derived", meaning=meaning)
        return meaning if observation.present else say("report.absent", meaning=meaning)

    def remedy(self, observation: Observation | None, say: Say) -> str:
        """Return what a finding says to change, with the values of this case and its place; empty where it does not."""
        text = self._fixes.get(observation.id) if observation is not None else None
        if observation is None or text is None:
            return ""
        told = put_in(say.text(text), observation.values)
        quote = observation.quotes[0] if observation.quotes else None
        if quote is None or quote.path is None or quote.line is None:
            return told
        return say("report.at-place", text=told, place=f"{PurePath(quote.path).name}:{quote.line}")

    def lift(self, evidence: Cue) -> float:
        """Return how many times as likely the observation is under the cause as it is anywhere."""
        return PROBABILITY[evidence.likelihood] / self._background.get(evidence.observation, 1.0)

    def title(self, identity: str, say: Say) -> str:
        """Return the title of an entry or a cause by its id; empty where there is none."""
        title = self._titles.get(identity)
        return say.text(title) if title else ""

    def is_failure(self, observation: Observation) -> bool:
        """Whether the observation shows that something went wrong, be it the failure or its echo."""
        return observation.present and self._roles.get(observation.id) in {"primary", "collateral"}

    def is_primary(self, observation: Observation) -> bool:
        """Whether the observation is the failure itself, and neither its echo nor the setting of the run."""
        return observation.present and self._roles.get(observation.id) == "primary"

    def is_echo(self, observation: Observation) -> bool:
        """Whether the observation only repeats on a witness that something failed elsewhere."""
        return self._roles.get(observation.id) == "collateral"

    def is_unexplained(self, observation: Observation) -> bool:
        """Whether the observation is an error of which no entry speaks."""
        return observation.present and observation.id in self._unexplained

    def leaves_unexplained(self, observations: Iterable[Observation]) -> bool:
        """Whether an error was read of which no entry speaks."""
        return any(map(self.is_unexplained, observations))

    def settles(self, observation: Observation) -> bool:
        """Whether the observation is a definite finding that says by itself what happened to the run."""
        return observation.present and observation.id in self._settles

    def concluded(self, observations: Iterable[Observation]) -> list[Observation]:
        """Return what settles the matter, but for what another observation says more exactly."""
        return [o for o in self.exact(observations) if self.settles(o)]

    def exact(self, observations: Iterable[Observation]) -> list[Observation]:
        """Return the observations but for those that another one says more exactly."""
        observations = list(observations)
        groups = {self._groups.get(o.id, "") for o in observations if o.present}
        return [o for o in observations if self._yields_to.get(o.id) not in groups]

    def is_ending(self, observation: Observation) -> bool:
        """Whether the observation tells how the run was ended from outside."""
        return observation.id in self._endings

    def nearness(self, observation: Observation) -> int:
        """Return how near an observation is to the failure.

        0: the failure itself; 1: what the readers found; 2: echoes, the setting, and what the user knows.
        """
        if self._roles.get(observation.id) == "primary":
            return 0
        return 1 if observation.id in self._findings else 2

    def parted(self, observations: Iterable[Observation]) -> tuple[list[Observation], list[Observation]]:
        """Return what tells, the failure itself first, and what only repeats it or was looked for and not seen."""
        rest = [o for o in observations if not o.present or self.is_echo(o)]
        telling = [o for o in observations if o not in rest]
        if not any(map(self.is_primary, telling)) and not any("=" not in o.id for o in telling):
            echoes = [o for o in rest if o.present]  # where there is nothing else, the echoes are what is known
            telling, rest = [*echoes, *telling], [o for o in rest if not o.present]
        return sorted(telling, key=self.nearness), rest
