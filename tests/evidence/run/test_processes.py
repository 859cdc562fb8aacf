"""Which process printed which line: files, labels and what the lines say of their rank."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, assembled, scan

from distkb.evidence.run.owner import _numbers_ranks, _ranks_of_pids
from distkb.evidence.run.processes import OPENING, TAIL, Run, assemble, attempts
from distkb.evidence.text.clean import plain


def said(run: Run) -> dict[int | None, list[str]]:
    """What each rank printed; None for what is nobody's."""
    found: dict[int | None, list[str]] = {}
    for process in run.processes:
        found.setdefault(process.rank, []).extend(line.text for line in (*process.opening, *process.tail))
    return found


@pytest.mark.parametrize(
    "label",
    ["[rank{}]: ", "[rank{}] ", "rank={} ", "2026-11-23 12:00:00 INFO [rank {}] ", "[1,{}]<stdout>: ", "[default{}]:"],
)
def test_a_console_is_taken_apart_by_rank(label: str) -> None:
    """What torchrun, mpirun and loggers put before a line tells whose it is."""
    text = "".join(f"{label.format(rank)}step {step}\n" for step in range(4) for rank in range(3))
    found = said(assembled(text))
    assert set(found) == {0, 1, 2}
    assert all(len(texts) == 4 for texts in found.values())


@pytest.mark.parametrize(
    "label", ["{}: ", "[{}] ", "worker{}: ", "r{} ", "(p{}) ", "{{proc {}}} ", "gpu{} ", "worker {} | "]
)
def test_bare_numbers_before_all_lines_are_ranks(label: str) -> None:
    """Numbers alone count as ranks where the whole file bears it out."""
    text = "".join(f"{label.format(rank)}step {step} loss 0.5\n" for step in range(6) for rank in range(3))
    assert set(said(assembled(text))) == {0, 1, 2}


@pytest.mark.parametrize(
    "labels",
    [
        ("[pod/bert-worker-0/pytorch] ", "[pod/bert-worker-1/pytorch] "),
        ("[pod/bert-master-0/pytorch] ", "[pod/bert-worker-0/pytorch] "),
        ("bert-master-0 pytorch ", "bert-worker-0 pytorch "),
        ("bert-master-0 \u203a pytorch ", "bert-worker-0 \u203a pytorch "),
        ("[pod/pretrain-workers-0-0-xk2jq/trainer] ", "[pod/pretrain-workers-0-1-9s8df/trainer] "),
        ("pretrain-workers-0-0-xk2jq trainer ", "pretrain-workers-0-1-9s8df trainer "),
        ("trainer/0 ", "trainer/1 "),
        ("(head, rank=0, pid=1234) ", "(worker1, rank=1, pid=1234, ip=10.2.0.3) "),
    ],
    ids=["kubectl", "PyTorchJob", "stern", "stern with arrow", "JobSet", "JobSet in stern", "torchx", "SkyPilot"],
)
def test_pods_and_replicas_are_ranks_where_nothing_says_otherwise(labels: tuple[str, str]) -> None:
    """The number of a pod is its rank, a master's before the workers', until a line says another one."""
    text = "".join(f"{label}step {step} of {rank}\n" for step in range(4) for rank, label in enumerate(labels))
    found = said(assembled(text))
    assert {rank: texts[-1].endswith(f"of {rank}") for rank, texts in found.items()} == {0: True, 1: True}
    swapped = said(assembled(f"{labels[0]}rank 1 of 2\n{labels[1]}rank 0 of 2\n" + text))
    assert swapped[0][-1].endswith("of 1")


@pytest.mark.parametrize(
    "labels",
    [
        ("(RayTrainWorker pid=4101, ip=10.0.0.4) ", "(RayTrainWorker pid=4102, ip=10.0.0.5) "),
        ("(bert, pid=1234) ", "(bert, pid=1299) "),
        ("ip-10-0-0-0: ", "ip-10-0-0-1: "),
        ("train-1  | ", "train-2  | "),
    ],
    ids=["Ray", "SkyPilot", "pdsh", "Compose"],
)
def test_writers_without_a_rank_are_told_apart(labels: tuple[str, str]) -> None:
    """A process label or a host is no rank, but its lines are one writer's."""
    text = "".join(f"{label}step {step} of {one}\n" for step in range(4) for one, label in enumerate(labels))
    run = assembled(text)
    assert [process.rank for process in run.processes] == [None, None]
    assert [len({line.text[-1] for line in process.tail}) for process in run.processes] == [1, 1]


def test_labels_lose_to_what_the_lines_say() -> None:
    """Where task 1 says that it is rank 2, its lines are rank 2's, those without a rank too."""
    ranks = {0: 0, 1: 2, 2: 1, 3: 3}
    text = "".join(f"{task}: [rank {rank}/4] step 1\n{task}: unsaid by {rank}\n" for task, rank in ranks.items())
    found = said(assembled(text))
    assert set(found) == {0, 1, 2, 3}
    for rank, texts in found.items():
        assert f"unsaid by {rank}" in texts


def test_the_label_of_a_launcher_of_several_ranks_is_no_rank() -> None:
    """Under `srun --label torchrun` a task's label stands before the lines of two ranks, and what says none is open."""
    text = "".join(
        f"{task}: [rank{2 * task + local}]: step {step}\n" for step in range(4) for task in (0, 1) for local in (0, 1)
    )
    found = said(assembled(text + "1: unsaid\n"))
    assert found[None] == ["unsaid"]
    assert {rank for rank in found if rank is not None} == {0, 1, 2, 3}


@pytest.mark.parametrize("label", ["[pod/llm-{}/pytorch] ", "(RayTrainWorker pid={}71) ", "ip-10-0-0-1{}: "])
def test_a_name_of_a_writer_stands_for_the_rank_that_its_lines_say(label: str) -> None:
    """A pod, an actor or a host that says its rank in one line is that rank in its other lines too."""
    ranks = {0: 2, 1: 0, 2: 1}
    text = "".join(
        f"{label.format(name)}starting rank {rank} of 3\n{label.format(name)}unsaid by {rank}\n"
        for name, rank in ranks.items()
    )
    found = said(assembled(text))
    assert set(found) == {0, 1, 2}
    for rank, texts in found.items():
        assert f"unsaid by {rank}" in texts


def test_a_name_of_a_node_stands_for_no_rank() -> None:
    """Where the lines of one pod say two ranks, its lines without a rank stay open."""
    text = "".join(
        f"[pod/llm-{pod}/main] [rank{2 * pod + local}]: step {step}\n"
        for step in range(4)
        for pod in (0, 1)
        for local in (0, 1)
    )
    assert said(assembled(text + "[pod/llm-1/main] unsaid\n"))[None] == ["unsaid"]


def test_a_file_name_loses_to_what_its_lines_say() -> None:
    """A file that is called rank_0 and in which only rank 3 speaks is rank 3's."""
    run = assemble([scan("[rank3]: step 1\n[rank3]: step 2\n", "rank_0.log", 0)])
    assert set(said(run)) == {3}


def test_a_file_name_counts_where_no_line_says_more() -> None:
    """Files of single ranks are theirs, an empty one too."""
    run = assemble([scan("step 1\n", "rank_0.log", 0), scan("", "rank_1.log", 1)])
    assert [process.rank for process in run.ranked] == [0, 1]
    assert all(process.whole for process in run.ranked)


def test_local_ranks_of_two_nodes_are_not_one_process() -> None:
    """Two nodes' folders of torchrun use the same local ranks; only what the lines say tells the rank."""
    files = [
        scan(f"[rank{2 * node + local}]: step 1\n" * 3, f"node{node}/attempt_0/{local}/stderr.log", local, local=True)
        for node in (0, 1)
        for local in (0, 1)
    ]
    assert [process.rank for process in assemble(files).ranked] == [0, 1, 2, 3]
    silent = [scan("step 1\n", f"node{node}/attempt_0/0/stdout.log", 0, local=True) for node in (0, 1)]
    run = assemble(silent)
    assert len(run.processes) == 2
    assert run.ranked == []


def test_the_ranks_of_pids_are_learnt_once() -> None:
    """Where a pid says which rank of how many it is, all its lines are that rank's."""
    hello = "".join(f"[{4000 + rank}] hello from rank {rank} of 3\n" for rank in range(3))
    steps = "".join(f"[{4000 + rank}] step {step} loss 0.5\n" for step in range(4) for rank in range(3))
    found = said(assembled(hello + steps))
    assert set(found) == {0, 1, 2}
    assert all(len(texts) == 5 for texts in found.values())


@pytest.mark.parametrize(
    "lines",
    [
        ["[11] rank 0 of 2", "[11] rank 1 of 2"],
        ["[11] rank 0 of 2", "[12] rank 0 of 2"],
        ["[11] rank 0 of 2"],
    ],
)
def test_pids_that_do_not_tell_ranks_apart(lines: list[str]) -> None:
    """One pid that says two ranks, two that say one, and a single one tell nothing."""
    assert _ranks_of_pids(lines) == {}


@given(st.integers(1, 60), st.integers(1, 5))
def test_a_counter_is_no_rank(most: int, times: int) -> None:
    """Numbers that only go up are a counter, however often each of them comes."""
    numbers = [number for number in range(most + 1) for _ in range(times)]
    assert not _numbers_ranks(numbers, len(numbers), lambda: set(numbers))


@given(st.integers(2, 16), st.integers(2, 6))
def test_ranks_come_again(world: int, rounds: int) -> None:
    """Numbers from 0 on that come round again are ranks; where one is missing that no other file has, they are not."""
    numbers = list(range(world)) * rounds
    assert _numbers_ranks(numbers, len(numbers), lambda: set(numbers))
    missing = [number for number in numbers if number != 0]
    assert len(set(missing)) == 1 or not _numbers_ranks(missing, len(missing), lambda: set(missing))
    assert len(set(missing)) == 1 or _numbers_ranks(missing, len(missing), lambda: set(numbers))


def test_one_number_is_a_rank_where_most_lines_carry_it() -> None:
    """A number that stands before most lines of a file is its rank; before a few it is not."""
    assert _numbers_ranks([3, 3, 3], 4, set)
    assert not _numbers_ranks([3, 3, 3], 40, set)


@given(st.lists(TEXTS, max_size=12), st.lists(TEXTS, max_size=12))
def test_no_line_gets_lost(one: list[str], other: list[str]) -> None:
    """Each printed line is one process's, whatever the lines say of their ranks, and nothing is said twice."""
    run = assembled("\n".join(one), "\n".join(other))
    numbers = Counter((line.path, line.number) for p in run.processes for line in (*p.opening, *p.tail))
    for index, texts in enumerate((one, other)):
        for number, text in enumerate("\n".join(texts).split("\n"), 1):
            if plain(text).strip() and "\r" not in text:
                assert numbers[f"{index}.log", number] == 1, text


def test_the_middle_of_a_long_output_is_left_out() -> None:
    """Of each process its first and its last lines are kept, in order."""
    text = "".join(f"[rank{rank}]: step {step}\n" for step in range(OPENING + TAIL + 50) for rank in (0, 1))
    for process in assembled(text).ranked:
        numbers = [line.number for line in (*process.opening, *process.tail)]
        assert numbers == sorted(set(numbers))
        assert process.tail[-1].text == f"step {OPENING + TAIL + 49}"


def test_the_first_attempt_with_an_error_is_taken() -> None:
    """Of torchrun's attempts the first that failed counts, and a given one where it is asked for."""
    error = 'Traceback (most recent call last):\n  File "/home/user/t.py", line 4, in main\n    f()\nValueError: no\n'
    files = []
    for attempt, text in enumerate(("step 1\n", error, error)):
        one = scan(text, f"attempt_{attempt}/0/stderr.log", 0)
        one.file = type(one.file)(path=one.file.path, name=one.file.name, rank=0, attempt=attempt)
        files.append(one)
    assert attempts(files) == [0, 1, 2]
    assert assemble(files).attempt == 1
    assert [line.path for p in assemble(files, 0).processes for line in p.tail] == ["attempt_0/0/stderr.log"]


@pytest.mark.parametrize(
    "text", ["slurmstepd-node1: error: *** STEP 7.0 ON node1", "srun: error: node1: task 0: Killed"]
)
@pytest.mark.parametrize("label", ["", "0: "])
def test_what_slurm_prints_is_no_process_output(label: str, text: str) -> None:
    """Slurm's lines belong to nobody, also where `srun --label` puts a task's number before them."""
    run = assembled(f"0: [rank 0/2] step 1\n1: [rank 1/2] step 1\n{label}{text}\n")
    assert not any(text in line for lines in said(run).values() for line in lines)
