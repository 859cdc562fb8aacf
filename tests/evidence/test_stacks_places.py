"""Where a rank stands is named, ranks in one place are together, and the odd one is found."""

from __future__ import annotations

import pytest

from distkb.evidence.readers.stacks.judge import Judged, judge
from distkb.evidence.readers.stacks.model import Dump, Frame, Thread
from distkb.evidence.readers.stacks.place import place_of, representative, role
from distkb.evidence.text.ranks import listed

SITE = "/venv/lib/python3.11/site-packages/"
PYTHON = "/usr/lib/python3.11/"
C10D = SITE + "torch/distributed/distributed_c10d.py"
LOADER = SITE + "torch/utils/data/dataloader.py"
ENGINE = SITE + "torch/autograd/graph.py"
TRAIN = ("train", "/job/train.py", 142)
MAIN = ("<module>", "/job/train.py", 200)

Row = tuple[str, str, int]


def thread(*rows: Row, name: str = "MainThread", source: str = "") -> Thread:
    """Return a thread whose innermost call is the first row; `source` is its line."""
    frames = tuple(Frame(*row, source if not at else "") for at, row in enumerate(rows))
    return Thread(name=name, main=name == "MainThread", frames=frames)


def dump(rank: int | None, *rows: Row, world: int | None = None, source: str = "", **more: object) -> Dump:
    """Return the dump of one rank with one thread."""
    return Dump(
        path="stacks.txt",
        rank=rank,
        world_size=world,
        snapshots=((thread(*rows, source=source),),),
        **more,  # type: ignore[arg-type]
    )


def reduce_at(line: int = 142, op: str = "all_reduce") -> tuple[Row, ...]:
    """Return the stack of a rank in a collective that `train` calls."""
    return (
        (op, C10D, 3252),
        ("wrapper", SITE + "torch/distributed/c10d_logger.py", 83),
        ("train", "/job/train.py", line),
        MAIN,
    )


ELSEWHERE: dict[str, tuple[tuple[Row, ...], str, str]] = {
    "save": (
        (("save", SITE + "torch/serialization.py", 900), ("save_checkpoint", "/job/utils.py", 88), TRAIN, MAIN),
        "save",
        "stacks.rank-in-save-or-eval",
    ),
    "save-by-name": ((("save_checkpoint", "/job/utils.py", 88), TRAIN, MAIN), "save", "stacks.rank-in-save-or-eval"),
    "eval": (
        (("_call_impl", SITE + "torch/nn/modules/module.py", 1), ("evaluate", "/job/eval.py", 7), TRAIN, MAIN),
        "eval",
        "stacks.rank-in-save-or-eval",
    ),
    "wandb": ((("log", SITE + "wandb/sdk/wandb_run.py", 5), TRAIN, MAIN), "log", "stacks.rank-in-save-or-eval"),
    "loader": (
        (("wait", PYTHON + "threading.py", 320), ("_next_data", LOADER, 1300), ("__next__", LOADER, 700), TRAIN, MAIN),
        "dataloader",
        "stacks.rank-in-dataloader",
    ),
    "dataset": (
        (("__getitem__", "/job/data.py", 9), ("fetch", SITE + "torch/utils/data/_utils/fetch.py", 50), TRAIN, MAIN),
        "user",
        "stacks.one-rank-elsewhere",
    ),
    "barrier": (reduce_at(op="barrier"), "barrier", "stacks.rank-in-barrier"),
    "other-collective": (reduce_at(op="all_gather"), "collective", "stacks.ranks-split"),
    "other-line": (reduce_at(150), "collective", "stacks.ranks-split"),
    "init": ((("init_process_group", C10D, 1700), ("setup", "/job/train.py", 20), MAIN), "init", "stacks.rank-in-init"),
    "download": (
        (("recv_into", PYTHON + "socket.py", 700), ("fetch", "/job/data.py", 3), TRAIN, MAIN),
        "io",
        "stacks.rank-in-io",
    ),
    "compile": (
        (("compile_fx", SITE + "torch/_inductor/compile_fx.py", 1), TRAIN, MAIN),
        "compile",
        "stacks.rank-in-compile",
    ),
    "build": (
        (("_run_ninja_build", SITE + "torch/utils/cpp_extension.py", 1), TRAIN, MAIN),
        "build",
        "stacks.rank-in-build",
    ),
    "build-lock": (
        (
            ("wait", SITE + "torch/utils/file_baton.py", 49),
            ("load", SITE + "torch/utils/cpp_extension.py", 1),
            TRAIN,
            MAIN,
        ),
        "lock",
        "stacks.rank-at-lock",
    ),
    "file-lock": ((("acquire", SITE + "filelock/_api.py", 344), TRAIN, MAIN), "lock", "stacks.rank-at-lock"),
    "import": ((("acquire", "<frozen importlib._bootstrap>", 100), TRAIN, MAIN), "import", "stacks.rank-in-build"),
    "ending": ((("_shutdown", PYTHON + "threading.py", 1590),), "finished", "stacks.rank-finished"),
    "destroying": (
        (("destroy_process_group", C10D, 2200), ("main", "/job/train.py", 9), MAIN),
        "finished",
        "stacks.rank-finished",
    ),
    "debugger": (
        (("cmdloop", PYTHON + "cmd.py", 1), ("interaction", PYTHON + "pdb.py", 1), TRAIN, MAIN),
        "debugger",
        "stacks.rank-in-debugger",
    ),
}


def ids(judged: Judged) -> set[str]:
    """Return what was found."""
    return {observation.id for observation in judged.observations}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_odd_rank_and_its_place_are_named(name: str) -> None:
    """Seven ranks wait in an all_reduce, the eighth is somewhere else."""
    rows, kind, identity = ELSEWHERE[name]
    dumps = [dump(rank, *(rows if rank == 3 else reduce_at()), world=8) for rank in range(8)]
    assert place_of(representative(dumps[3].snapshots[0])).kind == kind
    judged = judge(dumps)
    assert {"stacks.one-rank-elsewhere", identity} <= ids(judged)
    assert "stacks.all-in-same-collective" in judged.clear
    odd = next(o for o in judged.observations if o.id == "stacks.one-rank-elsewhere")
    assert (odd.values["odd"], odd.values["ranks"], odd.values["call"]) == ("3", "0-2, 4-7", "all_reduce")
    assert odd.values["place"] == "train.py:142"
    assert odd.quotes[0].rank == 3
    assert (odd.quotes[1].path, odd.quotes[1].line) == ("/job/train.py", 142)
    assert [group["odd"] for group in judged.facts["groups"]] == [True, False]


def test_the_sentence_of_the_brief_comes_out() -> None:
    """7 ranks in all_reduce at train.py:142, rank 3 in save_checkpoint at utils.py:88."""
    rows = ELSEWHERE["save"][0]
    judged = judge([dump(rank, *(rows if rank == 3 else reduce_at())) for rank in range(8)])
    values = next(o for o in judged.observations if o.id == "stacks.one-rank-elsewhere").values
    assert (values["function"], values["there"]) == ("save_checkpoint", "utils.py:88")


def test_all_in_one_collective_is_no_odd_rank() -> None:
    """Everyone came to the same call: the call itself does not finish."""
    judged = judge([dump(rank, *reduce_at(), world=4) for rank in range(4)])
    assert ids(judged) == {"stacks.all-in-same-collective"}
    assert "stacks.one-rank-elsewhere" in judged.clear


def test_missing_ranks_are_told_and_may_be_the_odd_ones() -> None:
    """Stacks of one node of two do not show where everyone is."""
    judged = judge([dump(rank, *reduce_at(), world=8) for rank in range(4)])
    assert ids(judged) == {"stacks.incomplete"}
    assert judged.observations[0].values["missing"] == "4-7"


def test_two_ranks_in_two_calls_name_the_barrier_of_rank_zero() -> None:
    """With two ranks nobody is in the majority: the barrier of rank 0 is the odd one."""
    judged = judge([dump(0, *reduce_at(op="barrier")), dump(1, *reduce_at())])
    odd = next(o for o in judged.observations if o.id == "stacks.rank-in-barrier")
    assert (odd.values["odd"], odd.values["function"], odd.values["call"]) == ("0", "barrier", "all_reduce")


def test_ranks_that_go_on_are_no_hang() -> None:
    """Of a job that runs two snapshots differ; whatever they show at one moment is no finding."""
    before, after = thread(*reduce_at(141)), thread(*reduce_at(142))
    dumps = [Dump(path="x", rank=rank, snapshots=((before,), (after,))) for rank in range(3)]
    dumps.append(Dump(path="x", rank=3, snapshots=((before,), (thread(TRAIN, MAIN),))))
    judged = judge(dumps)
    assert ids(judged) == {"stacks.ranks-moving"}
    assert judged.clear == ()


def test_a_rank_that_still_works_is_told_from_one_that_is_stuck() -> None:
    """Its lines differ between the snapshots while the others stand still."""
    still = thread(*reduce_at())
    work = [thread(("save_checkpoint", "/job/utils.py", line), TRAIN, MAIN) for line in (88, 90)]
    dumps = [Dump(path="x", rank=rank, snapshots=((still,), (still,))) for rank in range(3)]
    judged = judge([*dumps, Dump(path="x", rank=3, snapshots=((work[0],), (work[1],)))])
    assert {"stacks.one-rank-elsewhere", "stacks.rank-still-working"} <= ids(judged)


def test_polling_inside_the_loader_is_not_progress() -> None:
    """The loader wakes every five seconds to look at its workers; the rank stands still all the same."""
    waits = [
        thread(("wait", PYTHON + "threading.py", line), ("_try_get_data", LOADER, 1200 + line), TRAIN, MAIN)
        for line in (320, 324)
    ]
    still = thread(*reduce_at())
    dumps = [Dump(path="x", rank=rank, snapshots=((still,), (still,))) for rank in range(2)]
    judged = judge([*dumps, Dump(path="x", rank=2, snapshots=((waits[0],), (waits[1],)))])
    assert "stacks.rank-still-working" not in ids(judged)


def test_the_backward_counts_as_waiting() -> None:
    """DDP's all-reduces leave no frame: ranks that wait in `backward` wait for the one that saves."""
    backward = (("_engine_run_backward", ENGINE, 865), ("backward", SITE + "torch/_tensor.py", 600), TRAIN, MAIN)
    judged = judge([dump(rank, *(ELSEWHERE["save"][0] if rank == 0 else backward)) for rank in range(4)])
    assert {"stacks.one-rank-elsewhere", "stacks.rank-in-save-or-eval"} <= ids(judged)


def test_collectives_in_c_are_known_by_their_callers() -> None:
    """DDP's forward agrees on its buckets and broadcasts its buffers without a frame of the collective's own."""
    ddp = SITE + "torch/nn/parallel/distributed.py"
    forward = (("DistributedDataParallel._pre_forward", ddp, 1775), ("DistributedDataParallel.forward", ddp, 1886))
    place = place_of(thread(*forward, TRAIN, MAIN))
    assert (place.kind, place.op) == ("collective", "broadcast")
    inside = (
        ("linear", SITE + "torch/nn/modules/linear.py", 1),
        ("_call_impl", SITE + "torch/nn/modules/module.py", 1),
    )
    assert place_of(thread(*inside, *forward, TRAIN, MAIN)).kind == "forward"


def test_a_collective_in_autograds_thread_is_where_the_rank_stands() -> None:
    """Hooks in Python run in a thread that has no name and no user frames."""
    main = thread(("_engine_run_backward", ENGINE, 865), TRAIN, MAIN)
    hook = thread(
        ("all_gather_into_tensor", C10D, 4000), ("unshard", SITE + "torch/distributed/fsdp/_x.py", 3), name=""
    )
    place = place_of(representative([hook, main]))
    assert (place.kind, place.op, place.within) == ("collective", "all_gather_into_tensor", "backward")
    assert place.at is not None
    assert place.at.line == 142


@pytest.mark.parametrize(
    ("rows", "kind", "op"),
    [
        ((("wait", PYTHON + "threading.py", 327), ("join", PYTHON + "queue.py", 90)), "thread", "Queue.join"),
        ((("wait", PYTHON + "threading.py", 327), ("Queue.put", PYTHON + "queue.py", 140)), "thread", "Queue.put"),
        ((("_wait", PYTHON + "threading.py", 1132), ("join", PYTHON + "threading.py", 1112)), "thread", "Thread.join"),
        ((("result", PYTHON + "concurrent/futures/_base.py", 451),), "thread", "Future.result"),
        ((("get", PYTHON + "queue.py", 171),), "user", "train"),
        ((("join", PYTHON + "threading.py", 1112), ("_shutdown", LOADER, 1500)), "dataloader", "train"),
    ],
)
def test_waiting_for_a_thread_of_ones_own_is_a_place(rows: tuple[Row, ...], kind: str, op: str) -> None:
    """The method with which the user's code waits is named; a library that waits for its own thread is one itself."""
    place = place_of(thread(*rows, TRAIN, MAIN))
    assert (place.kind, place.op) == (kind, op)


def test_lines_of_code_tell_what_frames_cannot() -> None:
    """`.item()`, `.wait()` and `time.sleep` are C functions without a frame."""
    for source, kind in (("loss.item()", "cuda-sync"), ("work.wait()", "collective"), ("time.sleep(5)", "io")):
        assert place_of(thread(TRAIN, MAIN, source=source)).kind == kind
        assert place_of(thread(("save_checkpoint", "files.py", 9), MAIN, source=source)).kind == kind


def test_what_stands_around_the_program_is_not_its_place() -> None:
    """A script that trains while it is imported, or below a logging service's agent, neither imports nor logs."""
    imported = ("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241)
    agent = ("_run_job", SITE + "wandb/agents/pyagent.py", 300)
    assert place_of(thread(TRAIN, imported, agent, MAIN)).kind == "user"


def test_a_dataset_that_downloads_is_the_loaders_place() -> None:
    """With num_workers=0 the dataset runs in the rank itself."""
    rows = (("recv_into", PYTHON + "socket.py", 7), ("__getitem__", "/job/data.py", 9))
    fetch = ("fetch", SITE + "torch/utils/data/_utils/fetch.py", 50)
    assert place_of(thread(*rows, fetch, TRAIN, MAIN)).kind == "dataloader"


def test_launchers_and_workers_are_left_out() -> None:
    """`pgrep -f train.py` finds torchrun and the loader's workers as well."""
    agent = dump(
        None,
        ("LocalElasticAgent._invoke_run", SITE + "torch/distributed/elastic/agent/server/api.py", 9),
        ("main", SITE + "torch/distributed/run.py", 1),
    )
    worker = dump(
        None, ("poll", PYTHON + "selectors.py", 1), ("_worker_loop", SITE + "torch/utils/data/_utils/worker.py", 2)
    )
    assert (role(agent), role(worker)) == ("launcher", "worker")
    judged = judge([agent, worker, *(dump(rank, *reduce_at()) for rank in range(2))])
    assert ids(judged) == {"stacks.all-in-same-collective"}
    assert (judged.facts["launchers"], judged.facts["workers"]) == (1, 1)


def test_a_rank_with_a_compilers_thread_is_no_worker() -> None:
    """Inductor's pool of compilers has a thread in the rank itself, and torch's spawn a frame below every rank."""
    pool = thread(("_read_thread", SITE + "torch/_inductor/compile_worker/subproc_pool.py", 9), name="Thread-3")
    assert role(Dump(path="x", snapshots=((thread(*reduce_at()), pool),))) == "rank"
    spawned = (*reduce_at(), ("_wrap", SITE + "torch/multiprocessing/spawn.py", 90))
    assert role(dump(0, *spawned)) == "rank"


def test_ranks_that_work_are_not_called_waiting() -> None:
    """Where nobody waits, one that saves is no finding."""
    judged = judge([dump(rank, *(ELSEWHERE["save"][0] if rank == 0 else (TRAIN, MAIN))) for rank in range(4)])
    assert judged.observations == ()


def test_nodes_with_other_paths_are_in_one_group() -> None:
    """The same file may lie elsewhere on another node, and py-spy's text has only its end."""
    other = tuple((function, path.replace("/job/", "/home/x/"), line) for function, path, line in reduce_at())
    judged = judge([dump(0, *reduce_at()), dump(1, *other)])
    assert len(judged.facts["groups"]) == 1


def test_a_stopped_process_is_told() -> None:
    """State T: nothing that the code says matters then."""
    judged = judge([dump(0, *reduce_at(), state="T", pid=7), dump(1, *reduce_at())])
    assert next(o for o in judged.observations if o.id == "stacks.rank-stopped").values["pids"] == "7"


def test_one_rank_alone_is_only_described() -> None:
    """With nothing to compare it with there is no odd one, and nothing is known to be absent."""
    judged = judge([dump(0, *reduce_at())])
    assert judged.observations == ()
    assert judged.clear == ()


def test_runs_of_ranks_are_shortened() -> None:
    """Thousands of ranks fit on a line."""
    assert listed([0, 1, 2, 4, 5, 6, 7]) == "0-2, 4-7"
    assert listed([3, 4]) == "3, 4"
    assert listed(range(4096)) == "0-4095"


def test_a_stopped_rank_is_said_to_be_stopped_and_nothing_else() -> None:
    """Where the signal met it is chance: no pause, no save is made of it, and the others' place stays theirs."""
    for rows in ((("sleep", "/job/train.py", 9), TRAIN, MAIN), reduce_at(), ELSEWHERE["save"][0]):
        dumps = [dump(rank, *reduce_at(), world=4) for rank in (0, 2, 3)]
        judged = judge([*dumps, dump(1, *rows, world=4, pid=77, state="T")])
        (only,) = judged.observations
        assert (only.id, only.values["odd"], only.values["pids"]) == ("stacks.rank-stopped", "1", "77")
        assert judged.clear == ()
        assert [(group["label"], group["odd"]) for group in judged.facts["groups"]] == [("1", True), ("0, 2, 3", False)]


def test_ranks_that_differ_are_compared_beside_a_stopped_one() -> None:
    """Two things are wrong then, and both are said."""
    dumps = [dump(0, *reduce_at(op="barrier")), *(dump(rank, *reduce_at()) for rank in (2, 3))]
    found = {one.id for one in judge([*dumps, dump(1, *reduce_at(), state="T")]).observations}
    assert found == {"stacks.rank-stopped", "stacks.one-rank-elsewhere", "stacks.rank-in-barrier"}
