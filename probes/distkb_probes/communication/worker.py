"""One rank of the all_reduce smoke test: passes the stages one by one and marks each before it enters it."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

from distkb_probes.communication.bandwidth import TIMED, Bench, sizes
from distkb_probes.communication.collectives import CHECKS, Group, attempt
from distkb_probes.communication.marks import Marks, this_rank
from distkb_probes.communication.pulse import Pulse, key, position

_PREFIX = "distkb-allreduce"
_GPU_MOST, _CPU_MOST = 1 << 30, 64 << 20
_ROUNDS = 12
_FAREWELL_S = 3.0


def worker(arguments: Sequence[str]) -> NoReturn:
    """Be the rank that the launcher's variables name. The argument is the directory of the marks and the settings."""
    warnings.simplefilter("ignore")
    directory = Path(arguments[0])
    settings = json.loads((directory / "settings.json").read_text(encoding="utf-8"))
    marks = Marks(directory, this_rank(os.environ))
    _answer_with_stacks(directory, marks.who.rank)
    rank = Rank(marks, settings)
    try:
        rank.run()
    except BaseException as problem:  # noqa: BLE001 - whatever ends this rank is the finding
        traceback.print_exc()
        rank.failed(problem)
        _leave(1)
    _leave(0)


def _answer_with_stacks(directory: Path, rank: int) -> None:
    if hasattr(faulthandler, "register"):
        file = (directory / f"stacks-{rank}.txt").open("w", encoding="utf-8")
        faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)


def _leave(code: int) -> NoReturn:
    """End without the interpreter's and the backend's own farewells: those may wait for ranks that are gone."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Rank:
    """One rank on its way through the stages."""

    def __init__(self, marks: Marks, settings: dict[str, Any]) -> None:
        self.marks = marks
        self.who = marks.who
        self.settings = settings
        self.pulse = Pulse(marks)
        self.side: Any = None
        self.outcome: dict[str, str] = {}
        """Check → ok, wrong or unsupported."""

    def run(self) -> None:
        """Pass all stages. Raises what a stage raises."""
        self.marks.stage("launch")
        import torch
        import torch.distributed as dist

        device, backend = self._device(torch, dist)
        self._introduce(torch, device, backend)
        self._say("store", f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}")
        self.marks.stage("store")
        store = self._stores(dist)
        self.marks.stage("rendezvous")
        self._roll_call()
        self.marks.stage("communicator")
        self._group(dist, store, backend, device)
        self.marks.stage("first-collective")
        self._first(torch, dist, device)
        self.marks.stage("correctness")
        self._correctness(Group(torch, dist, device, self.who.rank, self.who.world, self.side))
        self.marks.stage("bandwidth")
        self._bandwidth(torch, dist, device)
        self.marks.call("farewell")
        dist.barrier()
        self.marks.stage("done")
        self._farewell()

    def failed(self, problem: BaseException) -> None:
        """Mark what ended this rank, for the supervisor here and those of the other nodes."""
        lines = [line for line in str(problem).splitlines() if line.strip()]
        error = f"{type(problem).__name__}: {lines[0] if lines else ''}".rstrip(": ")
        frames = [f for f in traceback.extract_tb(problem.__traceback__) if "c10d_logger" not in f.filename]
        trace = [f'File "{f.filename}", line {f.lineno}, in {f.name}' for f in frames[-2:]]
        self.marks.write("error", error=error, trace=[*trace, *lines[1:4]])
        if self.side is not None:
            threading.Thread(target=self._tell, args=(error,), daemon=True).start()
            time.sleep(0.05)

    def _tell(self, error: str) -> None:
        with contextlib.suppress(Exception):
            self.side.set(key(self.who.rank), position(self.marks, error))

    def _device(self, torch: Any, dist: Any) -> tuple[Any, str]:
        backend = self.settings["backend"]
        if backend is None:
            backend = "nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
        if "nccl" not in backend or not torch.cuda.is_available():
            return torch.device("cpu"), backend
        count = torch.cuda.device_count()
        # Where the launcher shows each rank one GPU only, that one is number 0.
        index = 0 if count == 1 else self.who.local_rank
        torch.cuda.set_device(index)
        return torch.device("cuda", index), backend

    def _introduce(self, torch: Any, device: Any, backend: str) -> None:
        nccl = None
        if "nccl" in backend:
            with contextlib.suppress(Exception):
                nccl = ".".join(str(part) for part in torch.cuda.nccl.version())
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
        for what, value in (("backend", backend), ("nccl_version", nccl), ("torch_version", torch.__version__)):
            self._say(what, value)
        self._say("device", f"{name} ({device})" if device.type == "cuda" else name)

    def _say(self, name: str, value: object) -> None:
        self.marks.write("said", name=name, value=value)

    def _stores(self, dist: Any) -> Any:
        """Open the store as `init_method="env://"` would, but without waiting there for the others.

        Two connections: one for the group, and one beside it that is free while the group waits. Returns the group's.
        """
        agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        base = f"{_PREFIX}/{self.settings['run']}/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"

        def connect(*, serves: bool) -> Any:
            return dist.TCPStore(
                os.environ["MASTER_ADDR"],
                int(os.environ["MASTER_PORT"]),
                is_master=serves,
                timeout=timedelta(seconds=self.settings["store_s"]),
                wait_for_workers=False,
                use_libuv=os.environ.get("USE_LIBUV", "1") == "1",
            )

        store = connect(serves=not agent and self.who.rank == 0)
        self.side = dist.PrefixStore(f"{base}/marks", connect(serves=False))
        return dist.PrefixStore(f"{base}/group", store)

    def _roll_call(self) -> None:
        """Wait until every rank has signed the store; names those that have not while it waits."""
        self.side.set(key(self.who.rank), position(self.marks))
        self.side.add("here", 1)
        told = 0.0
        while int(self.side.add("here", 0)) < self.who.world:
            if time.monotonic() - told > 1.0:
                told = time.monotonic()
                self.marks.write("absent", ranks=[r for r in range(self.who.world) if not self.side.check([key(r)])])
            time.sleep(0.02)
        self.marks.write("absent", ranks=[])
        local_world = int(os.environ.get("LOCAL_WORLD_SIZE") or self.who.world)
        if self.settings["inside"] or local_world < self.who.world:
            self.pulse.share(self.side, reads=self.who.local_rank < 2)

    def _group(self, dist: Any, store: Any, backend: str, device: Any) -> None:
        options: dict[str, Any] = {"device_id": device} if device.type == "cuda" else {}
        dist.init_process_group(
            backend,
            store=store,
            rank=self.who.rank,
            world_size=self.who.world,
            timeout=timedelta(seconds=self.settings["group_s"]),
            **options,
        )

    def _first(self, torch: Any, dist: Any, device: Any) -> None:
        self.marks.call("all_reduce")
        one = torch.ones(1, dtype=torch.int64, device=device)
        dist.all_reduce(one)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    def _correctness(self, group: Group) -> None:
        for name in CHECKS:
            self.marks.call(name)
            wrong = attempt(name, group)
            self.outcome[name] = "unsupported" if wrong is None else "wrong" if wrong else "ok"
            for item in wrong or ():
                self.marks.write("wrong", op=name, **asdict(item))
        self._say("correctness", self.outcome)

    def _bandwidth(self, torch: Any, dist: Any, device: Any) -> None:
        gpu = device.type == "cuda"
        most = self.settings["max_bytes"] or (_GPU_MOST if gpu else _CPU_MOST)
        if gpu:
            free = torch.tensor([torch.cuda.mem_get_info(device)[0] // 8], device=device)
            dist.all_reduce(free, op=dist.ReduceOp.MIN)
            most = min(most, int(free.item()))
        bench = Bench(dist, torch, device, self.who.world, self.marks.call)
        self.marks.call("rounds")
        self._say("entries", bench.entries(_ROUNDS))
        ops = [op for op in TIMED if self.outcome.get(op) != "unsupported"]
        points = bench.measure(list(sizes(self.settings["min_bytes"], most)), ops, self.settings["budget_s"])
        self._say("sizes", [asdict(point) for point in points])

    def _farewell(self) -> None:
        """Stay until all ranks are done: the store, or the peer of a last message, may live in this process."""
        self.pulse.stop()
        until = time.monotonic() + _FAREWELL_S
        with contextlib.suppress(Exception):
            self.side.add("bye", 1)
            while time.monotonic() < until and int(self.side.add("bye", 0)) < self.who.world:
                time.sleep(0.01)
            if self.who.rank == 0:
                time.sleep(0.05)
