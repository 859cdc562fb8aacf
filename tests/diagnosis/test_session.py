"""The session: events in, what to show out."""

from __future__ import annotations

import math
from random import Random

import msgspec
import pytest
from diagnosis_build import text
from hypothesis import given, settings
from hypothesis import strategies as st
from session_catalogues import fact, small_guide

from distkb.catalogue.model import Finding
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.likelihood import OTHER
from distkb.diagnosis.moves import Ask, Done, NothingFits, Take, TryFix
from distkb.diagnosis.session import (
    Answered,
    DontKnow,
    Event,
    EvidenceAdded,
    FixTried,
    Outcome,
    ProbeResult,
    Redone,
    Session,
    StepDeclined,
    Undone,
    Withdrawn,
    standing,
)
from distkb.diagnosis.view import SessionView, view
from distkb.evidence.observation import Evidence, Observation, Quote

GUIDE = small_guide()
HANG = Answered(question="symptom", values=("hang",))
CRASH = Answered(question="symptom", values=("crash",))
SAVE = Answered(question="place", values=("save",))


def seen(*events: Event, guide: Guide = GUIDE) -> SessionView:
    """What a session of these events shows."""
    return view(Session(id="s", events=events), guide)


def probability(shown: SessionView, cause: str) -> float:
    """The probability of one cause."""
    return next(r.probability for r in shown.causes if r.id == cause)


def moves(shown: SessionView) -> set[str]:
    """Names of all questions and steps that are proposed."""
    proposed = (shown.next, *shown.alternatives)
    return {m.question.id for m in proposed if isinstance(m, Ask)} | {
        m.step.id for m in proposed if isinstance(m, Take)
    }


def test_an_answer_moves_the_causes_and_the_view_says_how_far() -> None:
    """The causes that fit the answer rise; before and after are both shown, on the cause and in the trail."""
    start, after = seen(), seen(HANG)
    assert probability(after, "D1.a") > probability(start, "D1.a")
    moved = next(r for r in after.causes if r.id == "D1.a")
    assert moved.before == pytest.approx(probability(start, "D1.a"))
    assert moved.delta > 0.1
    item = after.trail[0]
    assert item.bits > 0.3
    assert {s.cause for s in item.moved} <= {r.id for r in after.causes}
    assert all(s.after != s.before for s in item.moved)


def test_a_later_answer_replaces_the_earlier_one() -> None:
    """Going back and changing an answer gives the same belief as answering so at once."""
    changed = seen(HANG, SAVE, CRASH)
    assert changed.causes[0].probability == pytest.approx(seen(SAVE, CRASH).causes[0].probability)
    assert [item.state for item in changed.trail] == ["replaced", "counts", "counts"]


def test_undo_and_redo_restore_exactly_what_was_shown() -> None:
    """Undo takes back the latest event that stands; redo brings it back until something else happens."""
    one, two = seen(HANG), seen(HANG, SAVE)
    assert seen(HANG, SAVE, Undone()).causes == one.causes
    assert seen(HANG, SAVE, Undone(), Redone()).causes == two.causes
    assert not seen(Undone()).can_undo
    assert seen(HANG, Undone()).can_redo
    assert standing((HANG, Undone(), SAVE, Redone())) == (2,)


def test_any_event_can_be_withdrawn() -> None:
    """Taking back the first of two answers leaves the second, and can itself be undone."""
    assert standing((HANG, SAVE, Withdrawn(number=0))) == (1,)
    assert standing((HANG, SAVE, Withdrawn(number=0), Undone())) == (0, 1)
    assert seen(HANG, SAVE, Withdrawn(number=0)).causes[0].probability == seen(SAVE).causes[0].probability


def test_dont_know_says_nothing_and_is_not_asked_again() -> None:
    """It leaves the belief as it was and takes the question off the list."""
    start, after = seen(), seen(DontKnow(question="symptom"))
    assert [r.probability for r in after.causes] == [r.probability for r in start.causes]
    assert "symptom" in moves(start)
    assert "symptom" not in moves(after)
    assert after.progress.unknown == 1


def test_several_answers_lie_between_the_single_ones() -> None:
    """Who sees both a hang and a crash rules out neither."""
    both = seen(Answered(question="symptom", values=("hang", "crash")))
    assert probability(seen(CRASH), "D1.a") < probability(both, "D1.a") < probability(seen(HANG), "D1.a")


def test_an_answer_counts_more_than_what_was_guessed_from_words() -> None:
    """A fact inferred from the report gives way to what the person says about it."""
    guess = Observation(id="symptom=crash", source="report", certainty=0.5)
    read = EvidenceAdded(label="description", evidence=Evidence(observations=(guess,)))
    assert probability(seen(read), "D3.a") > probability(seen(), "D3.a")
    assert probability(seen(read, HANG), "D3.a") == pytest.approx(probability(seen(HANG), "D3.a"))


def test_the_same_file_read_again_counts_once() -> None:
    """Evidence of one label replaces what was read under it before."""
    quote = Quote(text="its.line", path="log", line=3)
    read = EvidenceAdded(
        label="log",
        evidence=Evidence(observations=(Observation(id="its.line", source="log", quotes=(quote,)),), log_coverage=0.5),
    )
    assert seen(read, read).causes == seen(DontKnow(question="x"), read).causes


def test_a_probe_speaks_by_what_it_finds_and_by_what_it_does_not() -> None:
    """A finding raises its cause, its absence lowers it, and the probe is not proposed again."""
    found = ProbeResult(step="probe.stacks", observations=(Observation(id="stacks.odd", source="probe"),))
    clear = ProbeResult(step="probe.stacks", clear=("stacks.odd",))
    start = probability(seen(HANG), "D1.a")
    assert probability(seen(HANG, clear), "D1.a") < start < probability(seen(HANG, found), "D1.a")
    assert "probe.stacks" in moves(seen(HANG))
    for event in (found, clear, ProbeResult(step="probe.stacks", status="error"), StepDeclined(step="probe.stacks")):
        assert "probe.stacks" not in moves(seen(HANG, event))


def test_what_a_finding_implies_is_not_asked() -> None:
    """The stacks show a hang, so nobody is asked for the symptom."""
    found = ProbeResult(step="probe.stacks", observations=(Observation(id="stacks.odd", source="probe"),))
    assert "symptom" not in moves(seen(found))


def test_a_question_offers_only_what_was_not_excluded() -> None:
    """What a finding leaves no room for is no answer; a question that one answer is left of is not asked."""
    catalogue = GUIDE.catalogue
    places = fact("place", "save", "eval", "start", when=("symptom=hang",))
    gone = Finding(id="run.trained", means=text("trained"), excludes=("place=start",))
    ended = Finding(id="run.ended", means=text("ended"), excludes=("symptom=hang",))
    guide = Guide(
        msgspec.structs.replace(
            catalogue, facts=(catalogue.facts[0], places), findings=(*catalogue.findings, gone, ended)
        )
    )
    trained, finished = (
        EvidenceAdded(label=name, evidence=Evidence(observations=(Observation(id=name, source="log"),)))
        for name in ("run.trained", "run.ended")
    )

    def offered(*events: Event) -> dict[str, tuple[str, ...]]:
        shown = seen(*events, guide=guide)
        asked = [move.question for move in (shown.next, *shown.alternatives) if isinstance(move, Ask)]
        return {question.id: tuple(option.value for option in question.options) for question in asked}

    assert offered(HANG)["place"] == ("save", "eval", "start")
    assert offered(HANG, trained)["place"] == ("save", "eval")
    assert "symptom" not in offered(finished)
    assert "place" not in offered(finished)


def test_a_question_that_presupposes_something_else_is_not_asked() -> None:
    """Where it stops is asked of a run that hangs, and not of one that crashes."""
    assert "place" in moves(seen(HANG))
    assert "place" not in moves(seen(CRASH))


def test_the_fix_is_proposed_when_it_is_the_better_move() -> None:
    """With the cause all but certain, trying its fix beats another question."""
    found = ProbeResult(step="probe.stacks", observations=(Observation(id="stacks.odd", source="probe"),))
    best = seen(HANG, SAVE, found).next
    assert isinstance(best, TryFix)
    assert best.fix.id == "D1.a.1"
    assert 0.5 < best.chance < 1.0


def test_a_fix_that_helped_ends_the_session() -> None:
    """The cause is as good as proven."""
    after = seen(HANG, FixTried(fix="D1.a.1", outcome="helped"))
    assert isinstance(after.next, Done)
    assert after.next.cause.id == "D1.a"
    assert after.causes[0].id == "D1.a"
    assert after.causes[0].probability > 0.9


def test_a_fix_that_did_not_help_lowers_its_cause_by_what_it_promised() -> None:
    """Odds against a cause that the fix has nothing to do with change by (1 - works) to (1 - chance of accident)."""
    before, after = seen(HANG), seen(HANG, FixTried(fix="D1.a.1", outcome="did-not-help"))
    odds = probability(before, "D1.a") / probability(before, "D2.a")
    assert probability(after, "D1.a") / probability(after, "D2.a") == pytest.approx(odds * 0.2 / 0.98)
    assert isinstance(after.next, TryFix | Ask | Take)


def test_a_fix_that_could_not_be_tried_is_put_aside() -> None:
    """It says nothing about the cause and is not proposed again."""
    after = seen(HANG, FixTried(fix="D1.a.1", outcome="could-not-try"))
    assert probability(after, "D1.a") == probability(seen(HANG), "D1.a")
    assert all(m.fix.id != "D1.a.1" for m in (after.next, *after.alternatives) if isinstance(m, TryFix))


def test_nothing_fits_when_everything_was_tried() -> None:
    """With all fixes tried in vain and nothing left to ask, the session says so."""
    tried = tuple(FixTried(fix=name, outcome="did-not-help") for name in GUIDE.fixes)
    asked = (DontKnow(question="symptom"), DontKnow(question="place"), StepDeclined(step="probe.stacks"))
    lines = DontKnow(question="lines", offered=("its.line", "other.line"))
    assert isinstance(seen(*tried, *asked, lines).next, NothingFits)


def test_lines_can_be_answered_with_several_or_none() -> None:
    """A question about lines names what it offered, so that its absence counts too, and offers no line twice."""
    asked = next(
        m.question
        for m in (seen(CRASH).next, *seen(CRASH).alternatives)
        if isinstance(m, Ask) and m.question.id == "lines"
    )
    assert asked.options[0].example
    none = seen(CRASH, asked.answer())
    one = seen(CRASH, asked.answer("its.line"))
    assert probability(one, "D3.a") > probability(seen(CRASH), "D3.a") > probability(none, "D3.a")
    assert "lines" not in moves(none)


def test_what_is_not_offered_is_no_answer() -> None:
    """An option of another question, none at all and two of a single choice are mistakes of the caller."""
    shown = seen(HANG)
    place = next(
        m.question for m in (shown.next, *shown.alternatives) if isinstance(m, Ask) and m.question.id == "place"
    )
    for values in (("hang",), (), ("save", "eval")):
        with pytest.raises(ValueError, match="place"):
            place.answer(*values)


EVENTS = st.one_of(
    st.sampled_from([HANG, CRASH, SAVE, Undone(), Redone()]),
    st.builds(lambda q: DontKnow(question=q), st.sampled_from(["symptom", "place", "gone-from-the-catalogue"])),
    st.builds(lambda n: Withdrawn(number=n), st.integers(0, 6)),
    st.builds(
        lambda f, o: FixTried(fix=f, outcome=o),
        st.sampled_from(["D1.a.1", "D3.b.1", "D9.z.1"]),
        st.sampled_from(["helped", "did-not-help", "could-not-try"]),
    ),
    st.builds(lambda c: ProbeResult(step="probe.stacks", clear=c), st.sampled_from([(), ("stacks.odd",), ("x.y",)])),
)


@settings(max_examples=60)
@given(st.lists(EVENTS, max_size=10))
def test_any_history_can_be_shown_saved_and_replayed(events: list[Event]) -> None:
    """Whatever happened, the view is sound, and the same after a round trip through JSON and event by event."""
    session = Session(id="s", events=tuple(events))
    shown = view(session, GUIDE)
    assert math.isclose(sum(r.probability for r in shown.causes) + shown.other.probability, 1.0)
    assert math.isclose(sum(r.probability for r in shown.entries) + shown.other.probability, 1.0)
    assert shown.other.id == OTHER
    assert all(item.bits >= 0.0 for item in shown.trail)
    assert msgspec.json.decode(msgspec.json.encode(session), type=Session) == session
    again = Session(id="s")
    for event in events:
        again = again.apply(event)
    fresh = view(msgspec.json.decode(msgspec.json.encode(again), type=Session), small_guide())
    assert msgspec.json.encode(fresh) == msgspec.json.encode(shown)


@settings(max_examples=40)
@given(st.randoms(use_true_random=False))
def test_no_session_is_endless(random: Random) -> None:
    """Whatever is answered, found and tried, the session comes to an end: no move is proposed twice."""
    session = Session(id="s")
    for _ in range(25):
        move = view(session, GUIDE).next
        choices: list[Event]
        match move:
            case Ask(question=question):
                choices = [question.answer(random.choice(question.options).value), question.unknown()]
            case Take(step=step):
                choices = [ProbeResult(step=step.id, clear=step.reveals), StepDeclined(step=step.id)]
            case TryFix(fix=fix):
                outcomes: tuple[Outcome, ...] = ("helped", "did-not-help", "could-not-try")
                choices = [FixTried(fix=fix.id, outcome=outcome) for outcome in outcomes]
            case Done() | NothingFits():
                return
        session = session.apply(random.choice(choices))
    pytest.fail("the session goes on and on")


def test_one_slip_can_be_made_good() -> None:
    """A wrong answer to one question is outweighed by what is found afterwards."""
    found = ProbeResult(step="probe.stacks", observations=(Observation(id="stacks.odd", source="probe"),))
    wrong = Answered(question="place", values=("eval",))
    assert seen(HANG, wrong, found).causes[0].id == "D1.a"
