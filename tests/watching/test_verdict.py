"""From stacks and processor time to stuck, slow, or in something that takes its time; and how it is said."""

from __future__ import annotations

from distkb.evidence.readers.stacks.model import Dump, Frame, Thread
from distkb.locale import Say
from distkb.report import watch
from distkb.watching.event import Event
from distkb.watching.verdict import JobVerdict, Unseen, conclude

ALL_REDUCE = Frame("all_reduce", "torch/distributed/distributed_c10d.py", 3252)
TRAIN = Frame("train", "/home/user/train.py", 60)


def dump(rank: int, *frames: Frame, state: str = "S", cpu: float = 0.0, then: tuple[Frame, ...] = ()) -> Dump:
    """A rank that stands in these frames, innermost first; `then` is its second snapshot."""
    pairs = [frames, then or frames]
    snapshots = tuple((Thread(name="MainThread", main=True, active=None, frames=tuple(one)),) for one in pairs)
    return Dump(
        path=f"/proc/{100 + rank}",
        rank=rank,
        pid=100 + rank,
        host="node",
        world_size=4,
        state=state,
        cpu=cpu,
        snapshots=snapshots,
    )


def waiting(*ranks: int) -> list[Dump]:
    """Ranks in an all_reduce."""
    return [dump(rank, ALL_REDUCE, TRAIN) for rank in ranks]


SLEEPING = dump(1, Frame("hold", "/home/user/train.py", 33, "time.sleep(3600)"), TRAIN)


def test_a_rank_that_sleeps_while_others_wait_is_stuck() -> None:
    """It is named first, with its line."""
    verdict = conclude([*waiting(0, 2, 3), SLEEPING], {})
    assert verdict.outcome == "stuck"
    assert (verdict.places[0].ranks, verdict.places[0].at) == ("1", "train.py:33")


def test_a_rank_that_burns_processor_time_elsewhere_is_slow() -> None:
    """Waiting in a collective burns time too, and is no work."""
    busy = dump(1, Frame("evaluate", "/home/user/train.py", 80), TRAIN, cpu=0.9)
    assert conclude([*waiting(0, 2, 3), busy], {}).outcome == "slow"
    assert conclude([*waiting(0, 2, 3), SLEEPING], {100: 1.0, 102: 1.0, 103: 1.0}).outcome == "stuck"


def test_a_rank_that_gets_no_processor_works_as_well() -> None:
    """On a crowded machine it uses little; what counts is what it would use. Who waits for others wants nothing."""
    starved = dump(1, Frame("evaluate", "/home/user/train.py", 80), TRAIN, cpu=0.1)
    assert conclude([*waiting(0, 2, 3), starved], {101: 0.1}).outcome != "slow"
    verdict = conclude([*waiting(0, 2, 3), starved], {101: 0.1}, wanted={101: 0.9, 100: 0.0})
    assert (verdict.outcome, verdict.places[0].cores) == ("slow", 0.1)


def test_a_stopped_rank_is_named_where_it_stands_among_the_others_too() -> None:
    """Whatever its stack says is chance; where nobody could take it, it is still said that it is stopped."""
    verdict = conclude([*waiting(0, 2, 3), dump(1, ALL_REDUCE, TRAIN, state="T")], {})
    assert [(place.ranks, place.stopped) for place in verdict.places] == [("1", True), ("0, 2, 3", False)]
    unseen = conclude(waiting(0, 2, 3), {}, unseen=Unseen(halted="1"))
    assert (unseen.outcome, unseen.halted) == ("stuck", "1")
    event = Event(kind="stalled", verdict=unseen)
    assert watch.stalled(event, Say("en")).startswith("Rank 1 is stopped by a signal, its stack unknown; ranks 0, 2, 3")
    assert watch.stalled(event, Say("ko")).startswith("랭크 1은 시그널로 정지된 상태")
    assert conclude([], {}, unseen=Unseen(halted="0-3", reason="stacks-none-taken")).outcome == "stuck"


def test_processes_below_a_rank_count() -> None:
    """A rank that waits for loader workers which work is slow; where they do not, it is stuck."""
    loader = dump(1, Frame("_next_data", "torch/utils/data/dataloader.py", 1200), TRAIN)
    assert conclude([*waiting(0, 2, 3), loader], {101: 1.5}).outcome == "slow"
    assert conclude([*waiting(0, 2, 3), loader], {101: 0.0}).outcome == "stuck"


def test_what_a_rank_waits_for_in_its_loader_is_named() -> None:
    """Not the worker that waits for work, but the one that stands in the user's dataset."""
    loader = dump(1, Frame("_next_data", "torch/utils/data/dataloader.py", 1200), TRAIN)
    loop = Frame("_worker_loop", "torch/utils/data/_utils/worker.py", 300)
    idle = dump(1, Frame("get", "/usr/lib/python3.11/multiprocessing/queues.py", 100), loop)
    busy = dump(1, Frame("__getitem__", "/home/user/data.py", 41), loop)
    verdict = conclude([*waiting(0, 2, 3), loader], {}, workers=[idle, busy])
    assert (verdict.places[0].ranks, verdict.places[0].below) == ("1", "data.py:41")


def test_a_stopped_rank_is_stuck_whatever_the_others_do() -> None:
    """Ctrl-Z and SIGSTOP leave a rank in the middle of anything."""
    stopped = dump(1, Frame("evaluate", "/home/user/train.py", 80), TRAIN, state="T")
    verdict = conclude([*waiting(0, 2), stopped, dump(3, Frame("load", "/home/user/train.py", 9), cpu=1.0)], {})
    assert verdict.outcome == "stuck"
    assert (verdict.places[0].ranks, verdict.places[0].stopped) == ("1", True)


def test_an_evaluation_that_stands_still_gets_patience() -> None:
    """It may wait for a slow disk; what is missing or stopped does not."""
    still = dump(0, Frame("evaluate", "/home/user/train.py", 80), TRAIN)
    assert conclude([*waiting(1, 2, 3), still], {}).outcome == "phase"
    assert conclude([*waiting(1, 2), still], {}, unseen=Unseen(missing="3")).outcome == "stuck"


def test_without_stacks_processor_time_decides() -> None:
    """Nobody concludes that all is well from stacks that could not be taken."""
    assert conclude([], {100: 0.0}, unseen=Unseen(reason="stacks-no-tool")).outcome == "blind"
    assert conclude([], {100: 0.9}).outcome == "slow"


def test_both_languages_name_the_rank_and_the_line_first() -> None:
    """Particles and numbers come out as people write them."""
    verdict = conclude([*waiting(0, 2, 3), SLEEPING], {})
    event = Event(kind="stalled", verdict=verdict, silence_s=372.0, limit_s=300.0, logs=("x",))
    english = watch.stalled(event, Say("en"), 200)
    assert english.startswith(
        "Rank 1 stands in hold at train.py:33; ranks 0, 2, 3 stand in all_reduce at train.py:60. "
        "Nothing has gone on for 6 min 12 s.\n"
    )
    assert "| time.sleep(3600)" in english
    korean = watch.stalled(event, Say("ko"), 200)
    assert korean.startswith(
        "랭크 1은 train.py:33의 hold; 랭크 0, 2, 3은 train.py:60의 all_reduce. 6분 12초 동안 진행이 없습니다.\n"
    )


def test_what_could_not_be_taken_is_said() -> None:
    """The reason stands where the places would."""
    event = Event(
        kind="stalled", verdict=JobVerdict(outcome="blind", reason="stacks-no-tool"), silence_s=60, limit_s=50
    )
    assert watch.stalled(event, Say("en")).startswith("Py-spy is not installed. Nothing has gone on for 1 min 0 s.\n")
