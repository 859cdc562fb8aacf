"""Where each rank stood, from tracebacks, interrupts and stack dumps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import derived, position, scan

from distkb.evidence.readers.stacks.group import Standing, standings
from distkb.evidence.readers.stacks.model import Dump, Frame, Thread
from distkb.evidence.readers.stacks.place import place_of
from distkb.evidence.run.positions import Position, Stage, positions, stage
from distkb.evidence.scanner.scan import FileScan

TORCH = "/opt/env/lib/python3.11/site-packages/torch"
C10D = f"{TORCH}/distributed/distributed_c10d.py"
USER = Frame("train", "/home/user/train.py", 45, "loss.backward()")
BARRIER = (Frame("barrier", C10D, 5356, "work.wait()"), Frame("wrapper", f"{TORCH}/distributed/c10d_logger.py", 83))
REDUCE = (Frame("all_reduce", C10D, 3197, "work.wait()"),)
TIMEOUT = "RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete"


def traceback(*frames: Frame, error: str = TIMEOUT, label: str = "") -> str:
    """What Python prints of an exception; frames innermost first."""
    shown = [
        text for f in reversed(frames) for text in (f'  File "{f.path}", line {f.line}, in {f.function}', "    f()")
    ]
    lines = ["Traceback (most recent call last):", *shown, error]
    return "".join(f"{label}{line}\n" for line in lines)


def dump(rank: int | None, *frames: Frame, pid: int = 4000) -> Dump:
    """One process's stack, innermost frame first."""
    return Dump(path="stacks.txt", line=1, rank=rank, pid=pid, snapshots=((Thread(main=True, frames=frames),),))


def placed(*scans: FileScan, dumped: tuple[Standing, ...] = ()) -> tuple[Position, ...]:
    """Positions of all ranks of some files and dumps."""
    result = derived(*scans)
    return positions(result.run, result.timeline, dumped)


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (BARRIER, "barrier"),
        (REDUCE, "own-call"),
        ((*REDUCE, Frame("forward", f"{TORCH}/nn/modules/batchnorm.py", 9)), "forward"),
        ((*REDUCE, Frame("step", f"{TORCH}/optim/optimizer.py", 9)), "optimizer"),
        ((*REDUCE, Frame("clip_grad_norm_", f"{TORCH}/nn/utils/clip_grad.py", 9)), "optimizer"),
        ((*REDUCE, Frame("save", f"{TORCH}/distributed/checkpoint/state_dict_saver.py", 9)), "save"),
        ((Frame("_engine_run_backward", f"{TORCH}/autograd/graph.py", 9),), "backward"),
        ((*REDUCE, Frame("_engine_run_backward", f"{TORCH}/autograd/graph.py", 9)), "backward"),
        ((Frame("_store_based_barrier", C10D, 9),), "init"),
        ((Frame("__next__", f"{TORCH}/utils/data/dataloader.py", 9),), "data"),
        ((Frame("destroy_process_group", C10D, 9),), "finished"),
        ((), "work"),
    ],
)
def test_what_a_rank_was_doing(between: tuple[Frame, ...], expected: Stage) -> None:
    """The library's frames below the user's innermost one tell the stage."""
    user = Frame("work", "/home/user/train.py", 7, "run()")
    frames = (*between, user)
    assert stage(frames, place_of(Thread(frames=frames))) == expected


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (Frame("confirm_save", "/home/user/files.py", 9, "answer = input(question)"), "work"),
        (Frame("save_all", "/home/user/files.py", 9, "rows = sorted(names)"), "work"),
        (Frame("save_all", "/home/user/files.py", 9), "save"),
        (Frame("_save", f"{TORCH}/serialization.py", 9), "work"),
        (Frame("_full_state", f"{TORCH}/distributed/checkpoint/state_dict.py", 9), "save"),
    ],
)
def test_a_rank_that_saves_waits_for_others_only_where_it_may_gather(inner: Frame, expected: Stage) -> None:
    """Whoever writes or asks in a function of that name waits for nobody; where no line tells it, it may gather."""
    frames = (inner, Frame("save_model", "/home/user/train.py", 7))
    assert stage(frames, place_of(Thread(frames=frames))) == expected


@given(
    st.lists(
        st.builds(
            Frame,
            st.text(max_size=20),
            st.sampled_from([C10D, f"{TORCH}/optim/adam.py", "train.py", "C:\\me\\a.py", "<string>", ""]),
            st.integers(0, 9),
            st.text(max_size=20),
        ),
        max_size=8,
    )
)
def test_any_frames_are_some_stage(frames: list[Frame]) -> None:
    """Whatever is on a stack, it is a stage, and taking a dump of it apart never fails."""
    place = place_of(Thread(frames=tuple(frames)))
    assert isinstance(stage(frames, place), str)
    result = derived(scan("step 1\n"))
    for one in positions(result.run, result.timeline, standings([dump(0, *frames)])):
        assert one.frames
        assert isinstance(one.generates, bool)


def test_a_rank_that_timed_out_waits_where_its_traceback_ends() -> None:
    """A timeout's traceback is a place, and the rank waited there."""
    (one,) = placed(scan(traceback(*BARRIER, USER), "rank_2.log", 2))
    assert (one.rank, one.stage, one.how, one.waits) == (2, "barrier", "traceback", True)
    assert one.frames == (Frame("train", "/home/user/train.py", 45, "f()"),)
    assert one.quote.line == 2


def test_what_a_signals_handler_does_is_not_where_the_rank_stood() -> None:
    """Lightning broadcasts when it gets SIGTERM; the rank that was ended so had been at work in its own code."""
    handler = Frame("_sigterm_notifier_fn", "/venv/lightning/pytorch/trainer/connectors/signal_connector.py", 118)
    own = Frame("decode_names", "/home/user/callbacks.py", 42)
    (place,) = placed(scan(traceback(*REDUCE, handler, own), "rank0.log", 0))
    assert (place.stage, place.waits, place.frames[-1].function) == ("work", False, "decode_names")


def test_what_fails_after_a_signal_is_no_failure_of_the_ranks_own() -> None:
    """What is raised in the handler, and by what it breaks off, follows from the end that came from outside."""
    handler = Frame("_sigterm_notifier_fn", "/venv/lightning/pytorch/trainer/connectors/signal_connector.py", 118)
    own = Frame("compile_step", "/home/user/train.py", 42)
    ended = traceback(*REDUCE, handler, own) + traceback(own, error="OSError: compiler stopped")
    assert {event.kind for event in derived(scan(ended, "rank0.log", 0)).timeline.events} == {"echo"}
    alone = traceback(own, error="OSError: compiler stopped")
    assert {event.kind for event in derived(scan(alone, "rank0.log", 0)).timeline.events} == {"own"}


def test_an_interrupt_is_a_stack_dump() -> None:
    """Where Ctrl-C found a rank in a collective, it waited; where it found it at work, it did not."""
    waits, works = placed(
        scan(traceback(*REDUCE, USER, error="KeyboardInterrupt"), "rank_0.log", 0),
        scan(traceback(USER, error="KeyboardInterrupt"), "rank_1.log", 1),
    )
    assert (waits.how, waits.stage, waits.waits) == ("interrupt", "own-call", True)
    assert (works.how, works.stage, works.waits) == ("interrupt", "work", False)


def test_an_exception_of_ones_own_is_no_waiting() -> None:
    """A rank that raised an error of its own stood there for nobody."""
    (one,) = placed(scan(traceback(USER, error="ValueError: no"), "rank_0.log", 0))
    assert not one.waits


def test_a_traceback_counts_before_a_dump_and_a_dump_before_an_interrupt() -> None:
    """Each rank has one place: that of its own end, else that of the dump taken while it hung."""
    dumped = tuple(standings([dump(rank, Frame("prepare", "/home/user/data.py", 3), USER) for rank in (0, 1, 2)]))
    found = placed(
        scan(traceback(*BARRIER, USER), "rank_0.log", 0),
        scan(traceback(USER, error="KeyboardInterrupt"), "rank_1.log", 1),
        dumped=dumped,
    )
    assert [(one.rank, one.how) for one in found] == [(0, "traceback"), (1, "stack"), (2, "stack")]


def test_a_rank_that_was_dumped_in_one_wait_and_gave_up_in_another_went_on() -> None:
    """The wait of the dump counts, and that its own code went on from it; not where both are one wait."""
    dumped = tuple(standings([dump(1, *REDUCE, USER)]))
    later = Frame("save", "/home/user/train.py", 57)
    for told, went_on in ((USER, False), (later, True)):
        (one,) = placed(scan(traceback(*BARRIER, told), "rank_1.log", 1), dumped=dumped)
        assert (one.frames[-1].line, one.went_on) == (45, went_on)


def test_the_launchers_table_tells_the_rank_of_a_dumped_pid() -> None:
    """A dump that knows only a pid is of the rank that torchrun gives for it."""
    table = Path(__file__).parents[1] / "data"
    text = next(
        (text for path in sorted(table.rglob("*.log")) if "Root Cause (first" in (text := path.read_text())), None
    )
    assert text is not None
    result = derived(scan(text))
    failure = next(one for one in result.timeline.failures if one.pid is not None)
    found = positions(result.run, result.timeline, standings([dump(None, *BARRIER, USER, pid=failure.pid or 0)]))
    assert failure.rank in {one.rank for one in found if one.how == "stack"} | {
        one.rank for one in found if one.how == "traceback"
    }


@pytest.mark.parametrize(
    ("function", "generates"),
    [
        ("generate", True),
        ("Sampler.sample_images", True),
        ("greedy_decode", True),
        ("rollout", True),
        ("train", False),
        ("degenerate", False),
        ("subsample", False),
    ],
)
def test_functions_that_generate(function: str, *, generates: bool) -> None:
    """A rank generates where one of its functions is called so."""
    assert position(0, "forward", ("main", 1), (function, 5)).generates is generates


def test_ranks_that_print_their_pid_are_known_in_a_dump() -> None:
    """A dump that only tells its pid is the rank's whose line said that pid."""
    told = "".join(f"[rank{rank}]: up, pid {4001 - rank}\n[rank{rank}]: step 1\n" for rank in (0, 1))
    dumped = tuple(standings([dump(None, *REDUCE, USER, pid=4001), dump(None, *BARRIER, USER, pid=4000)]))
    found = {place.rank: place.stage for place in placed(scan(told), dumped=dumped)}
    assert found == {0: "own-call", 1: "barrier"}


def test_as_many_dumps_as_ranks_are_in_the_order_in_which_they_were_started() -> None:
    """Without any rank printed beside them, the pids of one machine's processes follow its local ranks."""
    dumped = tuple(standings([dump(None, *REDUCE, USER, pid=4001), dump(None, *BARRIER, USER, pid=4000)]))
    result = derived(scan("[rank0]: step 1\n[rank1]: step 1\n"))
    ordered = positions(result.run, result.timeline, dumped, world=2)
    assert [(place.rank, place.stage) for place in ordered] == [(0, "barrier"), (1, "own-call")]
    alone = positions(result.run, result.timeline, dumped[:1], world=2)
    assert [place.rank for place in alone] == [None], "one of several says nothing of the order"
