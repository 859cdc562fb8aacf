"""Numbered checkpoints on every rank: which rank stopped where. One file, standard library only, Python 3.10+.

    from distkb_probes import trace        # PYTHONPATH=$(distkb probe path); or copy this file as distkb_trace.py

    trace.start()                          # before the imports and calls that are to be marked by themselves
    loader = build_loader()
    trace.mark("after dataloader")
    with trace.span("first evaluation"):   # also a decorator: @trace.span("evaluate"), @trace.span
        evaluate()

Each checkpoint is one line on stderr and in `<dir>/trace-rank-<N>.log` (`trace-pid-<PID>.log` where no rank is known),
written at once; `distkb probe trace <dir>` compares the ranks. The line:

    distkb-trace v1 #0007 time=2026-01-31T09:05:01.123+00:00 elapsed=12.345 rank=1 local_rank=1 world=4 pid=4242
    host=node1 kind=mark name="after dataloader" at="/work/train.py:31"

on one line, fields separated by one blank, in this order; `name` and all after it are JSON values, `-` is unknown.
`kind`: start, env (`data={…}`: versions, variables, never secrets), mark, enter and leave (`took` s), fail (the span
raised `error`), quiet (nothing happened for `seconds`; the Python stacks of all threads follow, as faulthandler writes
them, in the file only), end (`error` where an exception ended the program), trouble (of the tracer itself).

With `auto` these get marks of their own: init_process_group, barrier, DDP, FSDP and fully_shard, the first forward and
backward, optimizer steps 1, 10, 100, …, saving, wandb.init, SummaryWriter. An outer call hides the ones inside it.
`kill -USR1 <pid>` adds the stacks to the file, unless the script handles that signal. `DISTKB_SERVE=1` also serves
them at a socket (distkb_probes.serve, where that is there). `DISTKB_TRACE=0` switches all of it off; an error of the
tracer never reaches the script.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import json
import os
import platform
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from importlib import machinery
from pathlib import Path
from typing import Any

VERSION = "v1"
_OWN = os.path.normcase(__file__)
_STANDARD = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120 - compared with what frames hold
_NAMES = frozenset({
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
    "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SLURM_JOB_ID",
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NNODES", "SLURMD_NODENAME", "WANDB_MODE",
    "WANDB_DISABLED", "CUDA_LAUNCH_BLOCKING", "PYTORCH_CUDA_ALLOC_CONF",
})  # fmt: skip
_PREFIXES = ("NCCL_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_", "TORCH_FR_", "GLOO_", "FI_")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH", re.IGNORECASE)
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_WORLDS = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_LOCALS = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")
_LIMITS = {"forward": 1, "backward": 1, "fully_shard": 1}
_LIMIT = 50
"""Calls of one kind that are marked; later ones only count as signs of life."""


def start(dir: str | None = None, quiet_s: float = 120.0, auto: bool = True) -> None:  # noqa: A002 - it reads well
    """Begin to trace this process; a second call changes nothing.

    `dir` is DISTKB_TRACE_DIR or `distkb-trace` without it. After `quiet_s` seconds in which nothing was marked, called
    or stepped, the stacks of all threads are written once; 0 never does. `auto=False` leaves everything unwrapped.
    """
    global _tracer  # noqa: PLW0603 - one tracer per process
    if _tracer is not None or os.environ.get("DISTKB_TRACE", "").lower() in ("0", "off", "false", "no"):
        return
    if _is_loader_worker():
        return
    with contextlib.suppress(Exception):
        _tracer = tracer = _Tracer(dir or os.environ.get("DISTKB_TRACE_DIR") or "distkb-trace")
        tracer.begin(quiet_s, auto)


def mark(name: str) -> None:
    """Note that this rank has come here; starts the tracer where `start` was not called."""
    if _tracer is None:
        start()
    if _tracer is not None:
        _tracer.say("mark", str(name), at=_place(2))


def span(name: str | Callable[..., Any]) -> Any:
    """Mark the beginning and the end of a block (`with`) or of each call of a function (as a decorator)."""
    if callable(name):
        return _Span(name.__qualname__)(name)
    return _Span(str(name))


class _Span(contextlib.ContextDecorator):
    def __init__(self, name: str) -> None:
        self._name = name
        self._call: _Call | None = None

    def _recreate_cm(self) -> _Span:
        return _Span(self._name)

    def __enter__(self) -> None:
        if _tracer is None:
            start()
        if _tracer is not None:
            self._call = _tracer.enter(self._name, self._name, limited=False)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if _tracer is not None and self._call is not None:
            _tracer.leave(self._call, error)


class _Call:
    """One call that has begun; `shown` where it has a line of its own."""

    __slots__ = ("began", "name", "shown")

    def __init__(self, name: str, shown: bool) -> None:
        self.name = name
        self.shown = shown
        self.began = time.monotonic()


class _Tracer:
    """Writes the lines of one process and knows when it was last alive."""

    def __init__(self, folder: str) -> None:
        self.began = self.alive = time.monotonic()
        self.pid = os.getpid()
        self.host = re.sub(r"[^\w.-]", "_", socket.gethostname()) or "-"
        self.rank, self.world, self.local = (_first(names) for names in (_RANKS, _WORLDS, _LOCALS))
        self.number = 0
        self.off = False
        self.counts: dict[str, int] = {}
        self.open: list[_Call] = []
        self.troubles = 0
        self._lock = threading.RLock()
        self._nested = threading.local()
        name = f"trace-pid-{self.pid}.log" if self.rank == "-" else f"trace-rank-{self.rank}.log"
        self.file = -1
        with contextlib.suppress(OSError):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.file = os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def begin(self, quiet_s: float, auto: bool) -> None:
        job = os.environ.get("TORCHELASTIC_RUN_ID") or os.environ.get("SLURM_JOB_ID") or ""
        restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self.say("start", " ".join(sys.argv)[:200], run=job, restart=restart)
        self.say("env", "environment", data=_environment())
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)
        if self.file >= 0 and hasattr(faulthandler, "register") and not _is_handled():
            faulthandler.register(signal.SIGUSR1, file=self.file, all_threads=True)
        if quiet_s > 0:
            threading.Thread(target=self._watch, args=(quiet_s,), name="distkb-trace", daemon=True).start()
        if auto:
            self.guarded(lambda: _install(self))
        if os.environ.get("DISTKB_SERVE", "").lower() in ("1", "on", "true", "yes"):
            self.guarded(_serve)

    def say(self, kind: str, name: str, **more: object) -> None:
        """Write one line to the file and to stderr; numbers are in the order of this process."""
        if self.off:
            return
        try:
            with self._lock:
                self.number += 1
                self.alive = now = time.monotonic()
                stamp = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
                rest = "".join(f" {key}={json.dumps(value)}" for key, value in more.items() if value is not None)
                line = (
                    f"distkb-trace {VERSION} #{self.number:04d} time={stamp} elapsed={now - self.began:.3f} "
                    f"rank={self.rank} local_rank={self.local} world={self.world} pid={self.pid} host={self.host} "
                    f"kind={kind} name={json.dumps(name)}{rest}\n"
                )
                if self.file >= 0:
                    os.write(self.file, line.encode())
                sys.stderr.write(line)
                sys.stderr.flush()
        except Exception:  # noqa: BLE001 - a full disk or a closed stderr is no reason to stop training
            self.troubles += 1
            self.off = self.troubles > 5

    def enter(self, operation: str, name: str, *, limited: bool = True) -> _Call | None:
        """Note that a call begins; None inside another marked call of this thread, and on any trouble."""
        if self.off:
            return None
        try:
            self.alive = time.monotonic()
            depth = getattr(self._nested, "depth", 0)
            if limited and depth:
                return None
            count = self.counts[operation] = self.counts.get(operation, 0) + 1
            call = _Call(name, not limited or _is_shown(operation, count))
            # the end of a forward is seen by a hook that may never run, so it hides nothing
            self._nested.depth = depth + (1 if limited and operation != "forward" else 0)
            self.open.append(call)
            if call.shown:
                self.say("enter", name, op=operation if limited else None, at=_place(3))
        except Exception as error:  # noqa: BLE001
            self.trouble(error)
            return None
        return call

    def leave(self, call: _Call | None, error: BaseException | None = None, *, limited: bool = False) -> None:
        """Note that a call has returned or raised."""
        if call is None:
            return
        try:
            self.alive = time.monotonic()
            if limited:
                self._nested.depth = max(0, getattr(self._nested, "depth", 1) - 1)
            with contextlib.suppress(ValueError):
                self.open.remove(call)
            took = round(self.alive - call.began, 3)
            if error is not None:
                self.say("fail", call.name, took=took, error=_said(error))
            elif call.shown:
                self.say("leave", call.name, took=took)
        except Exception as problem:  # noqa: BLE001
            self.trouble(problem)

    def guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - what cannot be wrapped stays as it is
            self.trouble(error)

    def trouble(self, error: BaseException) -> None:
        self.troubles += 1
        self.say("trouble", _said(error))
        self.off = self.off or self.troubles > 5

    def joined(self) -> None:
        """Take the ranks from the process group, and note the state of CUDA, now that there is one."""
        dist = sys.modules["torch.distributed"]
        if dist.is_initialized():
            self.rank, self.world = str(dist.get_rank()), str(dist.get_world_size())
            self.say("env", "process group", data={"backend": str(dist.get_backend()), **_cuda()})

    def _watch(self, quiet_s: float) -> None:
        said = -1.0
        while not self.off:
            alive = self.alive
            left = alive + quiet_s - time.monotonic()
            if left > 0 or alive == said:
                time.sleep(left if left > 0 else quiet_s)
                continue
            with self._lock:
                where = self.open[-1].name if self.open else None
                steps = self.counts.get("step")
                self.say("quiet", "no sign of life", seconds=round(time.monotonic() - alive), open=where, steps=steps)
                self.alive = said = alive
                if self.file >= 0:
                    faulthandler.dump_traceback(file=self.file, all_threads=True)

    def _end(self) -> None:
        error = getattr(sys, "last_value", None)
        self.say("end", "end", steps=self.counts.get("step"), error=None if error is None else _said(error))
        self.off = True

    def _forked(self) -> None:
        """Be silent in a child: it is a loader's worker or a helper, not this rank, until it calls `start` itself."""
        global _tracer
        self.off, _tracer = True, None
        with contextlib.suppress(Exception):
            faulthandler.unregister(signal.SIGUSR1)


_tracer: _Tracer | None = None


def _serve() -> None:
    from distkb_probes import serve

    serve.serve()


def _is_shown(operation: str, count: int) -> bool:
    if operation == "step":
        return str(count).rstrip("0") == "1"
    return count <= _LIMITS.get(operation, _LIMIT)


def _is_loader_worker() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and bool(process.current_process().daemon)


def _is_handled() -> bool:
    """Whether something in this process handles SIGUSR1 already, in Python or below it."""
    if signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL:
        return True
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return False
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGUSR1 - 1) & 1)


def _first(names: tuple[str, ...]) -> str:
    values = (os.environ.get(name, "") for name in names)
    return next((value for value in values if value.isdecimal()), "-")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300].rstrip(": ")


def _place(depth: int) -> str | None:
    """Return `path:line` of the innermost frame that is neither here nor in an installed package."""
    try:
        frame = sys._getframe(depth)  # noqa: SLF001 - the traceback module is slower by far
    except ValueError:
        return None
    for _ in range(40):
        path = frame.f_code.co_filename
        ours = os.path.normcase(path) == _OWN or path.startswith(("<", _STANDARD))
        if not ours and "site-packages" not in path:
            return f"{path}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None


def _environment() -> dict[str, object]:
    """Return versions, devices and the variables that matter; values of what may be a secret are never read."""
    names = [name for name in sorted(os.environ) if name in _NAMES or name.startswith(_PREFIXES)]
    data: dict[str, object] = {"python": platform.python_version(), "platform": platform.platform()}
    data["variables"] = {name: os.environ[name][:200] for name in names if not _SECRET.search(name)}
    with contextlib.suppress(Exception):
        from importlib import metadata

        data["torch"] = metadata.version("torch")
    with contextlib.suppress(OSError):
        data["driver"] = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").splitlines()[0]
    data["gpus"] = sum(1 for path in Path("/dev").glob("nvidia[0-9]*"))
    return {**data, **_cuda()}


def _cuda() -> dict[str, object]:
    """Return what torch knows of CUDA without making it start anything."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return {}
    with contextlib.suppress(Exception):
        known = {"cuda": torch.version.cuda, "devices": torch.cuda.device_count()}
        if torch.cuda.is_initialized():
            known["device"] = torch.cuda.current_device()
        return known
    return {}


def _install(tracer: _Tracer) -> None:
    """Wrap what is imported already, and the rest when it is imported."""
    for name, patch in _PATCHES.items():
        if name in sys.modules:
            tracer.guarded(functools.partial(patch, tracer, sys.modules[name]))
    sys.meta_path.insert(0, _Finder(tracer, {name for name in _PATCHES if name not in sys.modules}))


class _Finder:
    """Lets the ordinary finders find a module, and wraps it when it has been executed."""

    def __init__(self, tracer: _Tracer, wanted: set[str]) -> None:
        self._tracer = tracer
        self._wanted = wanted

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> machinery.ModuleSpec | None:
        if name not in self._wanted:
            return None
        self._wanted.discard(name)
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self._tracer.guarded(functools.partial(self._follow, name, spec.loader))
                return spec
        return None

    def _follow(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            self._tracer.guarded(lambda: _PATCHES[name](self._tracer, module))

        loader.exec_module = exec_module


def _wrapped(tracer: _Tracer, function: Callable[..., Any], operation: str, label: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        call = tracer.enter(operation, label)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            tracer.leave(call, error, limited=True)
            raise
        tracer.leave(call, limited=True)
        if operation == "init" and call is not None:
            tracer.guarded(tracer.joined)
        return result

    return traced


def _function(attribute: str, operation: str, label: str, *aliases: str) -> Callable[[_Tracer, Any], None]:
    """Return a patch that wraps a function, also where other modules have taken it by name already."""

    def patch(tracer: _Tracer, module: Any) -> None:
        plain = getattr(module, attribute, None)
        if callable(plain):
            traced = _wrapped(tracer, plain, operation, label)
            for holder in (module, *(sys.modules[name] for name in aliases if name in sys.modules)):
                if getattr(holder, attribute, None) is plain:
                    setattr(holder, attribute, traced)

    return patch


def _class(name: str, operation: str, label: str) -> Callable[[_Tracer, Any], None]:
    """Return a patch that wraps the construction of a class."""

    def patch(tracer: _Tracer, module: Any) -> None:
        kind = getattr(module, name)
        kind.__init__ = _wrapped(tracer, kind.__init__, operation, label)

    return patch


def _group(tracer: _Tracer, module: Any) -> None:
    for name, operation in (("init_process_group", "init"), ("barrier", "barrier"), ("monitored_barrier", "barrier")):
        _function(name, operation, name, "torch.distributed")(tracer, module)


def _state_dicts(tracer: _Tracer, module: Any) -> None:
    for name in ("get_state_dict", "get_model_state_dict", "get_optimizer_state_dict"):
        _function(name, "save", name)(tracer, module)


def _forward(tracer: _Tracer, module: Any) -> None:
    """Mark the first forward of a module that is trained; the hook is gone after it."""

    def before(called: Any, _args: object) -> None:
        with contextlib.suppress(Exception):
            if any(parameter.requires_grad for parameter in called.parameters()):
                handle.remove()
                call = tracer.enter("forward", "first forward")
                after: Any = called.register_forward_hook(lambda *_: leave(call, after), always_call=True)

    def leave(call: _Call | None, after: Any) -> None:
        with contextlib.suppress(Exception):
            after.remove()
            tracer.leave(call, sys.exc_info()[1])

    _keep_out_of_graphs(before)
    handle = module.register_module_forward_pre_hook(before)


def _steps(tracer: _Tracer, module: Any) -> None:
    """Count the steps of all optimizers."""
    calls: list[_Call | None] = []

    def before(*_: object) -> None:
        calls.append(tracer.enter("step", f"optimizer step {tracer.counts.get('step', 0) + 1}"))

    def after(*_: object) -> None:
        tracer.leave(calls.pop() if calls else None, limited=True)

    _keep_out_of_graphs(before)
    _keep_out_of_graphs(after)
    module.register_optimizer_step_pre_hook(before)
    module.register_optimizer_step_post_hook(after)


def _keep_out_of_graphs(hook: Any) -> None:
    """Tell torch.compile not to look into a hook, as torch.compiler.disable does."""
    hook._torchdynamo_disable = True  # noqa: SLF001


_FULLY_SHARD = ("torch.distributed.fsdp", "torch.distributed.fsdp._fully_shard", "torch.distributed._composable.fsdp")
_PATCHES: dict[str, Callable[[_Tracer, Any], None]] = {
    "torch.distributed.distributed_c10d": _group,
    "torch.nn.modules.module": _forward,
    "torch.autograd": _function("backward", "backward", "first backward"),
    "torch.optim.optimizer": _steps,
    "torch.serialization": _function("save", "save", "torch.save", "torch"),
    "torch.distributed.checkpoint.state_dict_saver": _function(
        "save", "save", "distributed checkpoint save", "torch.distributed.checkpoint"
    ),
    "torch.distributed.checkpoint.state_dict": _state_dicts,
    "torch.nn.parallel.distributed": _class("DistributedDataParallel", "wrap", "DistributedDataParallel"),
    "torch.distributed.fsdp.fully_sharded_data_parallel": _class("FullyShardedDataParallel", "wrap", "FSDP"),
    "torch.distributed.fsdp._fully_shard._fully_shard": _function(
        "fully_shard", "fully_shard", "fully_shard", *_FULLY_SHARD
    ),
    "torch.distributed._composable.fsdp.fully_shard": _function(
        "fully_shard", "fully_shard", "fully_shard", *_FULLY_SHARD
    ),
    "wandb": _function("init", "logger", "wandb.init"),
    "torch.utils.tensorboard.writer": _class("SummaryWriter", "logger", "SummaryWriter"),
    "tensorboardX.writer": _class("SummaryWriter", "logger", "SummaryWriter"),
}
