"""What the model of the run shows beyond single lines."""

from __future__ import annotations

import built_in
import pytest
from run_samples import observed, scan

from distkb.evidence.run.observe import LINES
from distkb.evidence.run.relations import RELATIONS
from distkb.evidence.scanner.scan import FileScan

TORCH = "/opt/env/lib/python3.11/site-packages/torch"
C10D = f'  File "{TORCH}/distributed/distributed_c10d.py", line 5356, in'
BACKWARD = f'  File "{TORCH}/autograd/graph.py", line 979, in _engine_run_backward'
TIMEOUT = "RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete"
CLOSED = "RuntimeError: [gloo/pair.cc:553] Connection closed by peer [10.77.0.1]:906."


def gave_up(rank: int, line: int, below: str, said: str = "", error: str = TIMEOUT) -> FileScan:
    """The file of a rank that gave up in a call of the training function."""
    frame = f'  File "/home/user/train.py", line {line}, in train\n    call()\n{below}\n    work.wait()\n'
    return scan(f"step 1\n{said}Traceback (most recent call last):\n{frame}{error}\n", f"rank_{rank}.log", rank)


def test_ranks_that_parted_are_observed_with_the_places_of_both() -> None:
    """One rank in a barrier behind the step of the other is said with the lines of both."""
    seen = observed(gave_up(0, 54, f"{C10D} barrier"), gave_up(1, 45, BACKWARD))
    one = seen["run.behind-step"]
    assert one.source == "log"
    assert {quote.rank for quote in one.quotes} == {0, 1}
    assert [quote.line for quote in one.quotes] == [3, 3]


def test_rank_0_of_two_is_less_sure_than_of_three() -> None:
    """That rank 0 went alone is certain among several ranks only."""
    two = [gave_up(0, 54, f"{C10D} barrier"), gave_up(1, 45, BACKWARD)]
    of_two = observed(*two)["run.rank-0-parted-alone"]
    of_three = observed(*two, gave_up(2, 45, BACKWARD))["run.rank-0-parted-alone"]
    assert of_two.certainty < of_three.certainty == 1.0


def test_after_a_failure_of_ones_own_nobody_parted() -> None:
    """Where one rank raised an exception before the others lost it, that is said, and not where the others stood."""
    raised = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 9, in main\n    f()\nOSError: no\n'
    seen = observed(scan(f"step 1\n{raised}", "rank_0.log", 0), gave_up(1, 45, BACKWARD, error=CLOSED))
    assert "run.raised-unknown" in seen
    assert seen["run.raised-unknown"].quotes[0].rank == 0
    assert not {name for name in seen if name.startswith("run.") and name.endswith(("-step", "-call"))}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("no more batches, leaving the loop", "alone.data-ended"),
        ("early stopping: no improvement for 3 epochs", "alone.stopped-early"),
        ("resumed from checkpoint step 400", "alone.resumed"),
        ("validation of epoch 0 over, 48 crossings here", "alone.evaluates"),
        ("10.0 s of 10 s used at step 55, finishing", "alone.out-of-time"),
        ("no new minimum for 30 steps, stopping", "alone.stopped-early"),
        ("stopping after step 12", "alone.stopping"),
        ("drew 8 peptides in 36 tokens", "alone.generated"),
        ("skipping batch 7: empty mask", "alone.skipped"),
        ("tokenizing shard 3", "alone.works-long"),
        ("waiting for the lock windows.idx.lock", "alone.lock"),
        ("wandb: waiting for the run to be created", "alone.tracker"),
    ],
)
def test_what_one_rank_says_alone(said: str, name: str) -> None:
    """A line that only one of the ranks printed is observed with its rank, by what it says."""
    others = [gave_up(rank, 45, BACKWARD) for rank in (0, 1)]
    seen = observed(*others, scan(f"step 1\n{said}\n", "rank_2.log", 2))
    assert [quote.rank for quote in seen[name].quotes] == [2]
    assert [one for one in seen if one.startswith("alone.")] == [name], "a line is of one kind"
    assert "run.last-words-alone" in seen


def test_what_all_ranks_say_is_said_by_nobody_alone() -> None:
    """The same line on every rank is no observation."""
    files = [scan(f"step 1\nearly stopping\nstep 2\nrank {rank}\n", f"rank_{rank}.log", rank) for rank in range(3)]
    assert not {name for name in observed(*files) if name.startswith("alone.")}


def test_numbers_side_by_side_quote_every_value() -> None:
    """Where a rank prints another world size, the quotes show one rank of each."""
    files = [scan(f"world size {3 if rank == 2 else 4}\nstep 1\n", f"rank_{rank}.log", rank) for rank in range(4)]
    one = observed(*files)["differs.world"]
    assert [quote.rank for quote in one.quotes][:2] == [0, 2]
    assert {quote.text for quote in one.quotes} == {"world size 4", "world size 3"}


def test_every_place_of_a_signature_is_looked_at() -> None:
    """No signature of the catalogue names a relation between numbers that nothing computes."""
    lines = {
        "log",
        "report",
        "frame",
        "raised",
        "stack",
        "asleep",
        "unexplained",
        "other-word",
        "on-both-sides",
    } | LINES
    assert {place for one in built_in.catalogue().signatures for place in one.where} <= lines | RELATIONS.keys()


def test_a_best_so_far_that_only_one_rank_has() -> None:
    """In the last lines of one moment the value is below the best of one rank and above that of the other."""
    files = [
        scan(
            f"step 1\nstep 2\nepoch 5 val_loss 0.30 (best 0.40)\nepoch 6 val_loss {value} (best 0.30)\n",
            f"{rank}.log",
            rank,
        )
        for rank, value in enumerate(("0.25", "0.35"))
    ]
    assert {quote.rank for quote in observed(*files, hanging=True)["apart.best"].quotes} == {0, 1}
    assert "apart.best" not in observed(files[0], files[0], hanging=True)
    behind = scan("step 1\nstep 2\nepoch 5 val_loss 0.45 (best 0.40)\n", "1.log", 1)
    assert "apart.best" not in observed(files[0], behind, hanging=True)


def test_files_of_nobody_are_not_laid_side_by_side() -> None:
    """Two consoles without ranks may be two runs of one job, so a number that differs between them says nothing."""
    scans = [
        scan(f"train begin: global_step={start} max_steps=1600\nstep {start} loss 4.4\n", f"{start}.log")
        for start in (0, 900)
    ]
    assert not {name for name in observed(*scans) if name.startswith(("differs.", "alone."))}


def test_learning_rates_that_differ_between_the_ranks() -> None:
    """The rates of all ranks at one step are held against each other."""
    said = {rank: "".join(f"step {s} lr {(1 + rank) * 0.001 * s:.5f}\n" for s in range(1, 6)) for rank in (0, 1)}
    seen = observed(*(scan(text, f"rank_{rank}.log", rank) for rank, text in said.items()))
    assert {quote.rank for quote in seen["differs.learning-rate"].quotes} == {0, 1}


@pytest.mark.parametrize(("path", "own"), [("out/rank1/model.pt", True), ("out/rank0/model.pt", False)])
def test_a_file_with_the_failed_ranks_own_number(path: str, own: bool) -> None:
    """What rank 1 did not find is a file of its own, or one of another rank."""
    frame = '  File "/home/user/train.py", line 9, in main\n    f()\n'
    raised = f"Traceback (most recent call last):\n{frame}FileNotFoundError: [Errno 2] No such file: '{path}'\n"
    seen = observed(scan(f"step 1\n{raised}", "rank_1.log", 1), gave_up(0, 45, BACKWARD, error=CLOSED))
    assert ("run.failed-at-own-path" in seen) is own


@pytest.mark.parametrize(
    ("call", "matches"),
    [
        ("dist.broadcast(box, src=0, group=pair)", True),
        ("dist.send(x, group=ring, dst=1)", True),
        ("dist.broadcast(box, src=0)", False),
        ("dist.all_reduce(x, group=pair)", False),
    ],
)
def test_a_call_that_names_a_peer_and_a_group(call: str, matches: bool) -> None:
    """Whether the other rank's number is one of the world or of the group is a question of such calls alone."""
    frame = f'  File "/home/user/train.py", line 9, in main\n    {call}\n'
    text = f"Traceback (most recent call last):\n{frame}ValueError: x\n"
    assert ("frame.peer-in-group" in observed(scan(text, "rank_1.log", 1))) is matches
