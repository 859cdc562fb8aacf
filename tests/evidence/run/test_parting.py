"""Where the ranks went different ways."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import position

from distkb.evidence.readers.stacks.model import Frame
from distkb.evidence.run.parting import Way, part
from distkb.evidence.run.positions import Position, Stage

STAGES: list[Stage] = [
    "barrier", "own-call", "group", "wrap", "forward", "backward", "optimizer", "save", "data", "init", "finished",
    "work", "unknown",
]  # fmt: skip
PLACES = st.lists(
    st.tuples(st.sampled_from(["main", "train", "evaluate", "generate"]), st.integers(1, 9)), min_size=1, max_size=3
)


@st.composite
def runs(draw: st.DrawFn) -> list[Position]:
    """Positions of ranks, one each."""
    ranks = draw(st.lists(st.integers(0, 9), max_size=6, unique=True))
    return [position(rank, draw(st.sampled_from(STAGES)), *draw(PLACES)) for rank in ranks]


def who(group: tuple[Position, ...]) -> list[str]:
    """The ranks of a group."""
    return [one.who for one in group]


@given(runs().flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
def test_how_ranks_parted_does_not_depend_on_their_order(orders: tuple[list[Position], list[Position]]) -> None:
    """The same positions in another order are the same parting, with the same ranks on each side."""
    one, other = map(part, orders)
    assert one == other


@given(runs(), st.one_of(st.none(), st.integers(1, 12)))
def test_groups_are_of_the_ranks_that_were_given(positions: list[Position], world: int | None) -> None:
    """No rank is in both groups, none is made up, and the main group is never empty."""
    parting = part(positions, world)
    if parting is not None:
        main, odd = set(who(parting.main)), set(who(parting.odd))
        assert main
        assert not main & odd
        assert main | odd <= {one.who for one in positions}


@given(runs())
def test_ranks_that_wait_for_nobody_did_not_part(positions: list[Position]) -> None:
    """Where nobody waits there is no parting, unless everyone is in the loader or setting up."""
    parting = part([position(p.rank or 0, p.stage, ("main", 1), waits=False) for p in positions])
    assert parting is None or parting.way in {"all-in-init", "all-in-loader"}


@pytest.mark.parametrize(
    ("way", "mine", "theirs"),
    [
        ("behind-step", ("backward", ("train", 5)), ("barrier", ("train", 9))),
        ("before-step", ("backward", ("train", 5)), ("barrier", ("train", 3))),
        ("beside-step", ("backward", ("train", 5)), ("own-call", ("evaluate", 9))),
        ("calls-side-by-side", ("barrier", ("train", 5)), ("own-call", ("train", 9))),
        ("calls-swapped", ("own-call", ("train", 5)), ("own-call", ("train", 9))),
        ("calls-apart", ("own-call", ("train", 5)), ("barrier", ("evaluate", 9))),
        ("model-paths", ("forward", ("train", 5)), ("backward", ("train", 9))),
        ("one-works", ("backward", ("train", 5)), ("work", ("train", 9))),
        ("save-apart", ("own-call", ("train", 5)), ("save", ("train", 9))),
        ("one-in-loader", ("backward", ("train", 5)), ("data", ("train", 4))),
        ("generation-apart", ("forward", ("generate", 5)), ("barrier", ("train", 9))),
    ],
)
def test_ways(way: Way, mine: tuple[Stage, tuple[str, int]], theirs: tuple[Stage, tuple[str, int]]) -> None:
    """Each way is told from two ranks' stages and the lines of the function that both are in."""
    parting = part([position(0, *mine), position(1, *theirs)])
    assert parting is not None
    assert parting.way == way
    assert {*who(parting.main), *who(parting.odd)} == {"rank 0", "rank 1"}


@pytest.mark.parametrize(
    ("way", "operations"),
    [
        ("all-receive", ("recv", "recv")),
        ("all-send", ("send", "isend")),
        ("all-in-pairs", ("send", "recv")),
        ("all-in-pairs", ("batch_isend_irecv", "recv")),
        ("calls-apart", ("all_reduce", "recv")),
    ],
)
def test_ranks_that_wait_for_single_others(way: Way, operations: tuple[str, str]) -> None:
    """Where everyone is in a send or a receive, no collective was called in another order."""
    stood = [position(rank, "own-call", (name, 5)) for rank, name in enumerate(("front", "back"))]
    parting = part(
        msgspec.structs.replace(one, place=msgspec.structs.replace(one.place, op=op))
        for one, op in zip(stood, operations, strict=True)
    )
    assert parting is not None
    assert parting.way == way
    assert {*who(parting.main), *who(parting.odd)} == {"rank 0", "rank 1"}


def test_all_in_one_place() -> None:
    """Everyone in one statement is one place; with ranks of whom nothing is known, their place is open."""
    both = [position(rank, "barrier", ("train", 5)) for rank in (0, 1)]
    assert [one.way for world in (None, 2, 4) if (one := part(both, world)) is not None] == [
        "same-place", "same-place", "rest-in-call",
    ]  # fmt: skip
    (alone,) = [position(1, "backward", ("train", 5))]
    parting = part([alone])
    assert parting is not None
    assert parting.way == "rest-in-step"


def test_another_folder_is_the_same_place() -> None:
    """Nodes that keep the code in different folders stand in the same place."""
    one, other = (position(rank, "barrier", ("train", 5)) for rank in (0, 1))
    moved = position(1, "barrier", ("train", 5))
    assert one.spot == other.spot == moved.spot


def test_rank_0_alone_means_something_among_several() -> None:
    """Rank 0 by itself in a call is worth saying among three ranks; of two ranks one is always alone."""
    three = [position(0, "barrier", ("train", 9)), *(position(rank, "backward", ("train", 5)) for rank in (1, 2))]
    parting = part(three)
    assert parting is not None
    assert (parting.way, parting.first_alone, parting.several) == ("behind-step", True, True)
    calls = part([position(0, "barrier", ("train", 9)), position(1, "own-call", ("train", 5))])
    assert calls is not None
    assert not calls.first_alone


def test_the_one_that_works_tells_more_than_others_that_wait() -> None:
    """Of several odd groups the one that waits for nobody is shown."""
    parting = part(
        [
            *(position(rank, "backward", ("train", 5)) for rank in (2, 3)),
            position(1, "own-call", ("train", 7)),
            position(0, "work", ("prepare", 2)),
        ]
    )
    assert parting is not None
    assert (parting.way, who(parting.odd)) == ("one-works", ["rank 0"])


def test_a_rank_that_died_has_not_parted_from_one_that_came_further() -> None:
    """Where a rank died in a call, a later line of the same function is only where another came since."""
    died = msgspec.structs.replace(position(1, "own-call", ("main", 9), ("validate", 57)), died=True)
    further, earlier = (position(0, "own-call", ("main", 9), ("validate", line)) for line in (58, 50))
    assert part([died, further]) is None
    assert part([died, earlier]) is not None
    wrap = position(1, "wrap", ("main", 9))
    check, broadcast = (
        msgspec.structs.replace(wrap, calls=(*wrap.frames, Frame("__init__", "torch/nn/parallel/distributed.py", line)))
        for line in (1064, 1066)
    )
    place = msgspec.structs.replace(broadcast.place, op="broadcast")
    other = msgspec.structs.replace(broadcast, rank=0, who="rank 0", place=place)
    assert part([msgspec.structs.replace(check, died=True), other]) is None


def test_a_forward_without_gradients_is_no_training_step() -> None:
    """Ranks in a forward of an evaluation or a generation, which another has left, have not parted in a step."""
    main = msgspec.structs.replace(position(0, "forward", ("main", 9), ("scores", 20)), inference=True)
    other = position(1, "own-call", ("main", 12))
    parting = part([main, other])
    assert parting is not None
    assert parting.way == "inference-apart"


def test_a_library_parts_ranks_that_stand_in_one_statement_of_the_users() -> None:
    """Below `trainer.train()` one rank is past the library's loop of steps and the other is inside."""
    inside, past = position(0, "backward", ("main", 92)), position(1, "own-call", ("main", 92))
    loops = [Frame("_inner_training_loop", "/site-packages/transformers/trainer.py", line) for line in (1660, 1676)]
    behind = part([
        msgspec.structs.replace(one, calls=(*one.frames, loop)) for one, loop in zip((inside, past), loops, strict=True)
    ])  # fmt: skip
    assert behind is not None
    assert behind.way == "behind-step"
    apart = part([inside, past])
    assert apart is not None
    assert apart.way == "beside-step"


@pytest.mark.parametrize(("line", "way"), [(4, "lock-around-call"), (12, "one-works")])
def test_a_lock_that_is_taken_above_the_call_is_around_it(line: int, way: Way) -> None:
    """Who waits for a lock at an earlier line of the function waits for the one inside; at a later line it is work."""
    inside, at_lock = position(0, "own-call", ("train", 9)), position(1, "work", ("train", line))
    place = msgspec.structs.replace(at_lock.place, kind="lock")
    parting = part([inside, msgspec.structs.replace(at_lock, place=place)])
    assert parting is not None
    assert parting.way == way


def test_a_thread_of_the_ranks_own_is_no_work() -> None:
    """A rank that waits for its own thread does nothing that the others could wait for."""
    waits, at_queue = position(1, "backward", ("train", 5)), position(0, "work", ("train", 9))
    place = msgspec.structs.replace(at_queue.place, kind="thread")
    parting = part([waits, msgspec.structs.replace(at_queue, place=place)])
    assert parting is not None
    assert parting.way == "own-thread"


def test_a_trainers_evaluation_and_its_training_lie_apart() -> None:
    """Below one statement of the user's one rank is in the library's evaluation, and the other still trains."""
    trains, evaluates = position(0, "backward", ("main", 30)), position(1, "own-call", ("main", 30))
    loop = Frame("run", "/site-packages/lightning/pytorch/loops/evaluation_loop.py", 170)
    parting = part([trains, msgspec.structs.replace(evaluates, calls=(*evaluates.frames, loop))])
    assert parting is not None
    assert parting.way == "evaluation-apart"
