"""Simulated users: somebody with a known cause answers by the catalogue's own likelihoods, and errs now and then.

It measures whether the questions lead to the cause: not whether the catalogue is true, which only real cases show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import msgspec

from distkb.diagnosis.guide import Guide
from distkb.diagnosis.likelihood import OTHER, Hypothesis
from distkb.diagnosis.moves import Ask, Done, Move, NothingFits, Take, TryFix
from distkb.diagnosis.presumed import OUTPUT
from distkb.diagnosis.questions import Question
from distkb.diagnosis.session import Event, EvidenceAdded, FixTried, ProbeResult, Session, standing
from distkb.diagnosis.view import next_moves
from distkb.evidence.observation import Evidence, Observation

NOISE = 0.1
"""How often an answer is another one than the true one."""

COVERAGE = 0.6
"""How far the output that a simulated user opens is complete."""

LONGEST = 80
"""Moves after which a session would count as endless; the tests hold that none comes near it."""


class SimulatedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One simulated session."""

    truth: str
    session: Session
    questions: int
    """Questions answered before the first fix was proposed."""
    taken: int
    """Probes run and things collected before that."""
    first: str
    """The most probable cause when the first fix was proposed."""
    last: str
    """The most probable cause at the end."""
    all_questions: int
    """Questions answered in the whole session."""
    fixes: int
    """Fixes tried."""
    ended: str
    """`done`, `nothing-fits` or `endless`."""

    @property
    def entry_first(self) -> bool:
        """Whether the truth's entry was most probable when the first fix was proposed."""
        return _entry(self.first) == _entry(self.truth)

    @property
    def entry_last(self) -> bool:
        """Whether the truth's entry was most probable at the end."""
        return _entry(self.last) == _entry(self.truth)

    @property
    def reached(self) -> bool:
        """Whether a fix of the true cause was tried: it may fail all the same, as often as its `works` says."""
        return any(isinstance(e, FixTried) and e.fix.startswith(f"{self.truth}.") for e in self.session.events)


def _entry(cause: str) -> str:
    return cause.partition(".")[0]


class User:
    """Somebody whose run fails for a known cause. What they once said they say again."""

    def __init__(self, guide: Guide, truth: Hypothesis, random: Random, noise: float = NOISE) -> None:
        self._guide = guide
        self._truth = truth
        self._random = random
        self._noise = noise

    def reply(self, move: Move) -> Event | None:
        """Return the event that follows a proposed move; None where the session is over."""
        match move:
            case Ask(question=question):
                return self._answer(question)
            case Take(step=step):
                return self._output() if step.id == OUTPUT else self._result(step.id, step.reveals)
            case TryFix():
                helped = move.cause.id == self._truth.id and self._draw(self._works(move))
                return FixTried(fix=move.fix.id, outcome="helped" if helped else "did-not-help")
            case _:
                return None

    def _works(self, move: TryFix) -> float:
        return self._guide.table.probability(f"fix.{move.fix.id}", self._truth.id)

    def _draw(self, chance: float) -> bool:
        return self._random.random() < chance

    def _answer(self, question: Question) -> Event:
        values = [option.value for option in question.options]
        if question.kind == "fact":
            chances = self._guide.table.fact_distribution(question.id, self._truth.id)
            value = self._random.choices(list(chances), weights=list(chances.values()))[0]
            if self._draw(self._noise):
                value = self._random.choice([v for v in values if v != value])
            return question.answer(value)
        return question.answer(*self._seen(values))

    def _seen(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return which of these observations hold; in a share of cases some other one, or none."""
        seen = tuple(n for n in names if self._draw(self._guide.table.probability(n, self._truth.id)))
        if not self._draw(self._noise):
            return seen
        others: list[tuple[str, ...]] = [(n,) for n in names if (n,) != seen]
        return self._random.choice([*others, ()] if seen else others)

    def _shown(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return which observations an artifact shows; artifacts do not err, they only leave things out."""
        return tuple(n for n in names if self._draw(self._guide.table.probability(n, self._truth.id)))

    def _result(self, step: str, reveals: Sequence[str]) -> ProbeResult:
        names = [n for n in reveals if n in self._guide.table.kinds]
        seen = self._shown(names)
        return ProbeResult(
            step=step,
            observations=tuple(Observation(id=n, source="probe") for n in seen),
            clear=tuple(n for n in names if n not in seen),
        )

    def _output(self) -> EvidenceAdded:
        findings = [name for name in self._guide.table.kinds if name.startswith("logs.")]
        seen = self._shown([*findings, *(s.id for s in self._guide.lines)])
        observations = tuple(Observation(id=n, source="log") for n in seen)
        evidence = Evidence(observations=observations, log_coverage=COVERAGE)
        return EvidenceAdded(label="output", evidence=evidence, step=OUTPUT)

    def say_nothing(self) -> tuple[Event, ...]:
        """Return no event: this user starts with the first question."""
        return ()

    def describe(self) -> tuple[Event, ...]:
        """Return the description that this user starts with: what people with this cause say; some say nothing."""
        if self._draw(self._noise):
            return ()
        names = [s.id for s in self._guide.catalogue.signatures if "report" in s.where and "log" not in s.where]
        observations = tuple(Observation(id=n, source="report") for n in self._shown(names))
        return (EvidenceAdded(label="description", evidence=Evidence(observations=observations)),)


def simulate(
    guide: Guide, truth: Hypothesis, random: Random, start: Callable[[User], Sequence[Event]] = User.say_nothing
) -> SimulatedSession:
    """Return one whole session of a user whose cause is `truth`; `start` gives the events that it begins with."""
    user = User(guide, truth, random)
    session = Session(id=truth.id, events=tuple(start(user)))
    first, questions, taken, counted, fixes = "", 0, 0, 0, 0
    ended = "endless"
    for _ in range(LONGEST):
        events = tuple(session.events[n] for n in standing(session.events))
        move = next_moves(guide, guide.known(events), guide.belief_after(events))[0]
        if isinstance(move, Done | NothingFits):
            ended = "done" if isinstance(move, Done) else "nothing-fits"
            first = first or _top(guide, session)
            break
        counted += isinstance(move, Ask)
        if isinstance(move, TryFix):
            first = first or _top(guide, session)
            fixes += 1
        elif not first:
            questions += isinstance(move, Ask)
            taken += isinstance(move, Take)
        event = user.reply(move)
        if event is not None:
            session = session.apply(event)
    return SimulatedSession(
        truth=truth.id,
        session=session,
        questions=questions,
        taken=taken,
        first=first,
        last=_top(guide, session),
        all_questions=counted,
        fixes=fixes,
        ended=ended,
    )


def _top(guide: Guide, session: Session) -> str:
    """Return the most probable cause; `OTHER` where that is none of them."""
    events = tuple(session.events[n] for n in standing(session.events))
    posterior = guide.belief_after(events).posterior
    return max(posterior, key=lambda name: (posterior[name], name != OTHER, name))
