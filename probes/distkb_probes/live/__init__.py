"""Checks that a training script calls while it trains: are all ranks in the same state?

    from distkb_probes import live

    model = DistributedDataParallel(model)
    live.check(model)                                  # every rank, after wrapping: weights, groups, coverage, memory
    for step, batch in enumerate(loader):
        loss = model(batch).sum(); loss.backward()
        if step % 500 == 0:                            # the same condition on every rank
            live.check(model, optimizer, batch=batch, step=step)

Every rank of the job, or of `group=`, calls the same check at the same place, whatever the backend. The ranks compare
short summaries through the job's store; no collective is started, so a check works where NCCL is stuck, and a rank
that does not come within `timeout` seconds is named instead of waited for. A check only reads: parameters, gradients,
buffers, random number generators and the process groups stay as they are; scratch memory on the device is at most 32
MiB and a copy of one non-contiguous tensor. The ranks of tensor, pipeline or expert parallel jobs differ by design:
pass `group=` the data-parallel group.

Each check returns `Findings`, equal on every rank that took part: `.ok`, `.findings` (id, values, ranks, evidence),
`.facts`. The first rank prints what was found on stderr (`report=False`: nothing) and, with `save=DIR` or the
environment variable DISTKB_LIVE_DIR, writes `live-<n>.json` for `distkb diagnose DIR`. Without a process group a check
looks at this process alone (`reason="not-initialised"`). Do not call checks inside a function that is compiled or
captured in a CUDA graph.

`live.serve()` is no check: it lets `distkb probe stacks` read this process without ptrace and without a signal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkb_probes.live._check import Check
from distkb_probes.live._output import document, say_fine
from distkb_probes.live._result import Finding, Findings
from distkb_probes.live._run import run, who
from distkb_probes.serve import serve

if TYPE_CHECKING:
    import torch

__all__ = [
    "Finding",
    "Findings",
    "check",
    "coverage",
    "data",
    "document",
    "gradients",
    "groups",
    "memory",
    "mesh",
    "placements",
    "serve",
    "step",
    "tensors",
]


def check(  # noqa: PLR0913 - all but the model are options
    model: torch.nn.Module | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    batch: Any = None,
    step: int | None = None,
    mesh: Any = None,
    group: Any = None,
    timeout: float = 30.0,
    report: bool = True,
    save: str | Path | None = None,
) -> Findings:
    """Carry out all checks that fit what is given, in one exchange. All ranks of `group` must call it.

    The first rank prints one line where all is well. BatchNorm statistics are left out: under DDP they differ between
    ranks by design (`tensors(model, what="buffers")` compares them). Gradients are compared where there are any.
    """

    def make(limit: float) -> list[Check]:
        from distkb_probes.live import _coverage, _data, _groups, _memory, _tensors

        checks: list[Check] = [_groups.GroupCheck(), _memory.MemoryCheck()]
        if step is not None:
            checks.append(_data.StepCheck(step))
        if mesh is not None:
            checks.append(_groups.MeshCheck(mesh))
        if model is not None:
            checks += [_coverage.CoverageCheck(model), _coverage.PlacementCheck(model)]
            checks += [_tensors.TensorCheck(model, "params", limit)]
            checks += [_tensors.TensorCheck(model, "buffers", limit, skip_batchnorm=True)]
            checks += [_tensors.TensorCheck(model, "gradients", limit)]
        if optimizer is not None:
            checks.append(_data.OptimizerCheck(optimizer, model))
        if batch is not None:
            checks.append(_data.DataCheck(batch, limit))
        return checks

    result = run("check", make, group=group, timeout=timeout, report=report, save=save)
    if report and result.ok:
        say_fine(result, *who(group))
    return result


def coverage(
    model: torch.nn.Module,
    *,
    group: Any = None,
    timeout: float = 30.0,
    report: bool = True,
    save: str | Path | None = None,
) -> Findings:
    """Name the trainable parameters that neither DDP, FSDP, fully_shard nor DeepSpeed looks after.

    All ranks of `group` must call it.
    """

    def make(_limit: float) -> list[Check]:
        from distkb_probes.live._coverage import CoverageCheck

        return [CoverageCheck(model)]

    return run("coverage", make, group=group, timeout=timeout, report=report, save=save)


def placements(
    model: torch.nn.Module,
    *,
    group: Any = None,
    timeout: float = 30.0,
    report: bool = True,
    save: str | Path | None = None,
) -> Findings:
    """Group the DTensor parameters by mesh and placements; name large replicated ones among sharded ones.

    All ranks of `group` must call it.
    """

    def make(_limit: float) -> list[Check]:
        from distkb_probes.live._coverage import PlacementCheck

        return [PlacementCheck(model)]

    return run("placements", make, group=group, timeout=timeout, report=report, save=save)


def groups(*, timeout: float = 30.0, report: bool = True, save: str | Path | None = None) -> Findings:
    """Compare the process groups: members, backend, timeout, and the number of collectives begun in each.

    All ranks of the job must call it, with no collective begun on some of them only in between.
    """

    def make(_limit: float) -> list[Check]:
        from distkb_probes.live._groups import GroupCheck

        return [GroupCheck()]

    return run("groups", make, timeout=timeout, report=report, save=save)


def mesh(
    mesh: Any, *, group: Any = None, timeout: float = 30.0, report: bool = True, save: str | Path | None = None
) -> Findings:
    """Compare a DeviceMesh, or a slice of one, between the ranks and with the world. All ranks must call it."""

    def make(_limit: float) -> list[Check]:
        from distkb_probes.live._groups import MeshCheck

        return [MeshCheck(mesh)]

    return run("mesh", make, group=group, timeout=timeout, report=report, save=save)


def tensors(
    source: Any,
    what: str = "params",
    *,
    group: Any = None,
    timeout: float = 30.0,
    report: bool = True,
    save: str | Path | None = None,
) -> Findings:
    """Compare a model's parameters (`what="params"`) or buffers (`"buffers"`), or the tensors of a dict or list.

    Compared are names, shape, dtype, device type and requires_grad; of tensors that every rank holds whole, also the
    bytes. NaN and infinities are found in what is on each rank. All ranks of `group` must call it.
    """

    def make(limit: float) -> list[Check]:
        from distkb_probes.live._tensors import TensorCheck

        if what not in {"params", "buffers"}:
            raise ValueError(f'what is "params" or "buffers", not {what!r}')
        return [TensorCheck(source, what if hasattr(source, "named_parameters") else "tensors", limit)]

    return run(
        f"tensors-{what if hasattr(source, 'named_parameters') else 'dict'}",
        make,
        group=group,
        timeout=timeout,
        report=report,
        save=save,
    )


def gradients(
    model: torch.nn.Module,
    *,
    group: Any = None,
    timeout: float = 30.0,
    report: bool = True,
    save: str | Path | None = None,
) -> Findings:
    """Compare the gradients after backward, before `optimizer.step()`: equal under DDP, the same ones None, finite.

    All ranks of `group` must call it; not while gradients are accumulated under `no_sync()`, where they differ.
    """

    def make(limit: float) -> list[Check]:
        from distkb_probes.live._tensors import TensorCheck

        return [TensorCheck(model, "gradients", limit)]

    return run("gradients", make, group=group, timeout=timeout, report=report, save=save)


def memory(
    *, group: Any = None, timeout: float = 30.0, report: bool = True, save: str | Path | None = None
) -> Findings:
    """Compare CUDA and resident memory of the ranks, and look at each host's memory and /dev/shm.

    All ranks of `group` must call it.
    """

    def make(_limit: float) -> list[Check]:
        from distkb_probes.live._memory import MemoryCheck

        return [MemoryCheck()]

    return run("memory", make, group=group, timeout=timeout, report=report, save=save)


def data(
    batch: Any, *, group: Any = None, timeout: float = 30.0, report: bool = True, save: str | Path | None = None
) -> Findings:
    """Find ranks that were given the same batch (nested dicts, lists and tuples of tensors).

    All ranks of `group` must call it; in a tensor parallel job pass the data-parallel group.
    """

    def make(limit: float) -> list[Check]:
        from distkb_probes.live._data import DataCheck

        return [DataCheck(batch, limit)]

    return run("data", make, group=group, timeout=timeout, report=report, save=save)


def step(
    number: int, *, group: Any = None, timeout: float = 30.0, report: bool = True, save: str | Path | None = None
) -> Findings:
    """Check that all ranks are at the same step. All ranks of `group` must call it."""

    def make(_limit: float) -> list[Check]:
        from distkb_probes.live._data import StepCheck

        return [StepCheck(number)]

    return run("step", make, group=group, timeout=timeout, report=report, save=save)
