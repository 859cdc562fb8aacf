"""What the files of a run show together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, derived, observed, scan

from distkb.evidence.run.observe import LAST

RAISED = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 9, in train\n    dist.barrier()\n'


@pytest.mark.slow
@given(st.dictionaries(st.integers(0, 3), st.lists(TEXTS, max_size=8), max_size=3), st.booleans())
def test_any_files_make_a_run(said: dict[int, list[str]], named: bool) -> None:
    """Putting files together never fails, and whatever it shows has an id, a certainty and quotes of those files."""
    files = [scan("\n".join(texts), f"rank_{rank}.log", rank if named else None) for rank, texts in said.items()]
    result = derived(*files)
    names = {one.file.name for one in files}
    for seen in result.observations:
        assert 0 < seen.certainty <= 1
        assert all(quote.path in names for quote in seen.quotes)
    assert 0 <= result.coverage <= 1


def test_the_order_of_files_changes_nothing() -> None:
    """The same files in another order show the same."""
    files = [
        scan("step 1\nstep 2\nno more batches\n", "rank_2.log", 2),
        scan(f"step 1\nstep 2\n{RAISED}RuntimeError: Connection closed by peer\n", "rank_0.log", 0),
        scan(f"step 1\nstep 2\n{RAISED}RuntimeError: Connection closed by peer\n", "rank_1.log", 1),
    ]
    ids = [sorted(observed(*order)) for order in (files, files[::-1], [files[1], files[2], files[0]])]
    assert ids[0] == ids[1] == ids[2]


def test_a_run_that_began_anew_in_the_same_file_started_over() -> None:
    """A requeued job that appends to its file and counts from the start again is seen, one that resumes is not."""
    once = "world size 2\n" + "".join(f"step {step} loss 0.5\n" for step in range(9))
    assert "run.started-over" in observed(scan(once + once))
    resumed = "world size 2\n" + "".join(f"step {step} loss 0.5\n" for step in range(9, 18))
    assert "run.started-over" not in observed(scan(once + resumed))


STEPS = "".join(f"step {step} loss 0.5\n" for step in range(20, 60, 10))
ERROR = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 9, in <module>\n    train()\n'
ERROR += "IndexError: Target -1 is out of bounds.\n"
LIBRARY = '  File "/opt/python3.11/site-packages/torch/distributed/c10d.py", line 4, in barrier\n    work.wait()\n'
LOST = f"{RAISED}{LIBRARY}RuntimeError: Connection closed by peer\n"


def test_a_restart_that_goes_on_has_not_started_over_though_the_console_holds_both_attempts() -> None:
    """What stands in the console of all attempts is not where the second one began."""
    resumed = f"continuing from last.pt: step 50\n{ERROR}"
    files = [scan(f"pid 7\n{STEPS}{LOST}", "attempt_0/0/stderr.log", 0, attempt=0)]
    files += [scan(f"pid 9\n{resumed}", "attempt_1/0/stderr.log", 0, attempt=1)]
    console = "".join(f"[default0]:{line}\n" for line in f"pid 7\n{STEPS}{LOST}pid 9\n{resumed}".splitlines())
    seen = observed(*files, scan(console, "console.log"))
    assert not seen["run.started-over"].present
    assert "IndexError" in seen["run.fails-anew"].quotes[0].text


def test_a_restart_that_fails_as_the_first_attempt_did_has_not_failed_anew() -> None:
    """An error of the script that every attempt raises is no work of the first one."""
    files = [scan(STEPS + ERROR, f"attempt_{n}/0/stderr.log", 0, attempt=n) for n in (0, 1)]
    assert "run.fails-anew" not in observed(*files)
    assert "run.fails-anew" not in observed(files[0])


def test_a_bar_that_is_redrawn_in_place_is_followed() -> None:
    """It stands in one line of the file, whose states on the way say how fast it went."""
    states = (f"train: {at}%|#  | {20 * at}/400 [00:{2 * at * at // 20:02d}<00:09, 9.9it/s]" for at in range(21))
    assert "run.slows-down" in observed(scan("begin\n" + "\r".join(states) + "\n"))
    states = (f"train: {at}%|#  | {20 * at}/400 [00:{2 * at:02d}<00:09, 9.9it/s]" for at in range(21))
    assert "run.slows-down" not in observed(scan("begin\n" + "\r".join(states) + "\n"))


def test_a_run_that_came_to_its_end_has_no_last_words() -> None:
    """What a rank printed shortly before all of them finished is nothing that anybody waited for."""
    text = "step 1\nstep 2\n{}training finished\n"
    files = [scan(text.format("saving the model\n" if rank == 0 else ""), f"{rank}.log", rank) for rank in (0, 1)]
    seen = observed(*files)
    assert "run.completed" in seen
    assert "run.last-words-alone" not in seen
    assert "alone.saves" not in seen or seen["alone.saves"].certainty < LAST


def test_frames_of_tracebacks_are_matched_once_a_rank() -> None:
    """A signature of frames is observed with the frame of each rank."""
    files = [scan(f"{RAISED}RuntimeError: Timed out\n", f"rank_{rank}.log", rank) for rank in (0, 1)]
    one = observed(*files)["frame.barrier"]
    assert (one.count, [quote.rank for quote in one.quotes], [quote.line for quote in one.quotes]) == (
        2,
        [0, 1],
        [2, 2],
    )


@pytest.mark.parametrize("text", ["", "\n\n", "\0\0", "\r\r\r"])
def test_files_that_say_nothing(text: str) -> None:
    """Empty files, zeros and redrawn lines make a run of which nothing is observed."""
    assert derived(scan(text, "rank_0.log", 0), scan(text, "rank_1.log", 1)).observations == ()


def test_a_rank_is_not_said_to_have_printed_nothing_where_lines_of_nobody_stand() -> None:
    """In a console in which only the rank that failed says who it is, the other lines may be any rank's."""
    error = f"{RAISED}ValueError: bad batch".replace("\n", "\n[rank2]: ")
    console = scan("world size 4\n" + "step 1 loss 0.5\n" * 4 + f"[rank2]: {error}\n", "console.log", None)
    assert [one.rank for one in derived(console).ranks] == [2]
    own = scan(f"[rank2]: world size 4\n[rank2]: {error}\n", "console.log", None)
    assert [one.rank for one in derived(own).ranks] == [0, 1, 2, 3]


def test_steps_with_what_was_learnt_in_them_are_training() -> None:
    """Three steps or epochs in a row that print a loss put the first step behind the run; bars of a set-up do not."""
    steps = "".join(f"step {step} loss 0.5\n" for step in (98, 99, 0, 1, 2))
    assert [quote.line for quote in observed(scan(steps))["run.steps-made"].quotes] == [3, 4, 5]
    assert "run.steps-made" in observed(scan("epoch 1 loss 3.0\nepoch 2 loss 2.0\nepoch 3 loss 1.0\n"))
    assert "run.steps-made" not in observed(scan("step 1 loss 0.5\nstep 2 loss 0.4\n"))
    assert "run.steps-made" not in observed(scan("".join(f"step {step}/4: load the data\n" for step in range(1, 5))))


def test_a_rank_that_comes_when_the_others_have_given_up_waited_for_nobody() -> None:
    """It worked past their timeout and then found their connections closed: the ranks never waited at once."""
    gloo = "[rank{0}]: RuntimeError: [/gloo/transport/tcp/{1}\n"
    at = '[rank{0}]: Traceback (most recent call last):\n[rank{0}]:   File "/home/u/train.py", line 40, in train\n'
    at += "[rank{0}]:     dist.barrier()\n"
    work = [f"2026-11-30 08:36:{second} [rank0] INFO tokenized shard {second}/54\n" for second in range(46, 55)]
    waits = "2026-11-30 08:36:46 [rank1] INFO waits for rank 0\n"
    gave_up = at.format(1) + gloo.format(
        1, "unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete"
    )
    came = at.format(0) + gloo.format(0, "pair.cc:553] Connection closed by peer [127.0.0.1]:33929.")
    late = derived(scan(waits + "".join(work[:5]) + gave_up + "".join(work[5:]) + came))
    found = {o.id for o in late.observations}
    assert "logs.rank-still-working" in found
    assert not found & {"run.all-wait", "run.same-place"}
