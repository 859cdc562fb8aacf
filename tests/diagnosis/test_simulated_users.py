"""The questions of the knowledge base, and how sessions go with them."""

from __future__ import annotations

from functools import cache
from random import Random
from statistics import mean, median

import built_in
import pytest

from distkb.diagnosis.guide import Guide
from distkb.diagnosis.moves import Ask
from distkb.diagnosis.session import Session
from distkb.diagnosis.simulate import User, simulate
from distkb.diagnosis.view import view

TELLING = 2.0
"""A question tells two causes apart where an answer is this many times as likely under one as under the other."""
OPTIONS = 10
"""Number keys."""


@cache
def guide() -> Guide:
    """The knowledge base, prepared once."""
    return built_in.guide()


@pytest.mark.parametrize("name", sorted(guide().facts))
def test_every_question_tells_causes_apart(name: str) -> None:
    """At least two causes state something about it, and some answer is much likelier under one than under another."""
    known = guide()
    fact = known.facts[name]
    stating = [h for h in known.table.hypotheses if any(key.startswith(f"{name}=") for key in known.table.stated(h.id))]
    assert len(stating) >= 2
    rows = [known.table.fact_distribution(name, h.id) for h in known.table.hypotheses if h.cause is not None]
    assert any(max(row[v.value] for row in rows) >= TELLING * min(row[v.value] for row in rows) for v in fact.values)


@pytest.mark.parametrize("name", sorted(guide().facts))
def test_every_question_can_be_answered_with_a_key(name: str) -> None:
    """It has between two and ten options, a reason, and costs less than five minutes."""
    fact = guide().facts[name]
    assert 2 <= len(fact.values) <= OPTIONS
    assert 0 < fact.seconds <= 300
    assert fact.why.en.strip()
    assert fact.why.ko.strip()


@pytest.mark.parametrize("name", sorted(guide().facts))
def test_what_a_question_presupposes_exists(name: str) -> None:
    """`when` names facts and values of the catalogue, and never the question itself."""
    for key in guide().facts[name].when:
        assert guide().table.knows(key)
        assert key.partition("=")[0] != name


@pytest.mark.parametrize("cause", ["D1.c", "D8.a", "D11.a", "D15.c", "D21.b", "D47.b"])
def test_no_question_is_asked_that_cannot_change_the_ranking(cause: str) -> None:
    """For every question of a session some answer changes the order of the first few causes."""
    known = guide()
    truth = known.table.hypotheses[known.numbers[cause]]
    user = User(known, truth, Random(4))
    session = Session(id="s")
    for _ in range(12):
        shown = view(session, known)
        move = shown.next
        if isinstance(move, Ask):
            before = [r.id for r in shown.causes[:20]]
            orders = []
            for option in move.question.options:
                after = view(session.apply(move.question.answer(option.value)), known)
                orders.append([r.id for r in after.causes[:20]])
            assert any(order != before for order in orders), move.question.id
        event = user.reply(move)
        if event is None:
            break
        session = session.apply(event)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_simulated_users_find_their_cause() -> None:
    """A sample of the table that `tests/benchmarks/simulated_users.py` prints, where 90 % must be right.

    Of some eighty sessions a few more may go wrong by chance; the median of the questions holds as it is.
    """
    known = guide()
    truths = [h for h in known.table.hypotheses if h.cause is not None][::5]
    runs = [simulate(known, truth, Random(f"sample {truth.id}")) for truth in truths]
    assert all(run.ended in ("done", "nothing-fits") for run in runs)
    assert max(len(run.session.events) for run in runs) < 60
    assert mean(run.entry_last for run in runs) >= 0.82
    assert mean(run.reached for run in runs) >= 0.85
    assert median(run.all_questions for run in runs) <= 5
