"""The FSDP model probe: builds the user's model in a pretended world and says how it would be sharded.

Request keys: `model` ("module:callable" or "file.py:callable"), `world_size`, and optionally `directory` (searched for
the module, default the working directory), `gpus_per_node` (8, at most the world), `gpu_memory` (bytes, or text such
as "80G": binary units), `strategy` (see STRATEGIES), `precision` ("fp32", "bf16" and "fp16": mixed, "pure-bf16": the
parameters themselves), `optimizer` ("adamw", "adam", "sgd", "sgd-momentum"), `wrap` (class names).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from distkb_probes.sharding import source
from distkb_probes.sharding.judge import (
    IDS,
    MEMORY_IDS,
    NAMES,
    Found,
    frozen_values,
    judge,
    judge_memory,
    mixed_dtypes,
    names,
    some,
)
from distkb_probes.sharding.memory import STATES, Bytes, Precision, Setting, gathered, pair, table
from distkb_probes.sharding.plan import Param, Plan, Unit
from distkb_probes.sharding.world import hide_gpus

if TYPE_CHECKING:
    from distkb_probes._report import Report
    from distkb_probes.sharding.ties import Ties

STRATEGIES = (*NAMES, "built")
"""What `strategy` may be; `built` is how the callable itself wrapped the model, and the default if it did."""
ALIASES = {"no_shard": "ddp", "zero-1": "zero1", "zero-2": "zero2", "zero-3": "zero3", "fully_shard": "fsdp2"}
PRECISIONS: dict[str, Precision] = {"fp32": "no", "no": "no", "pure-bf16": "no", "bf16": "bf16", "fp16": "fp16"}
_MIXED = re.compile(
    r"^(?P<unit>\S*) has both parameters with requires_grad=True and False.*"
    r"requires_grad=True:\s*(?P<trained>\[[^\]]*\]).*requires_grad=False:\s*(?P<frozen>\[[^\]]*\])",
    re.DOTALL,
)
"""What FSDP1's wrap policy says of a module that is partly frozen (torch.distributed.fsdp._wrap_utils)."""
_UNITS_SHOWN = 400
"""Units written out one by one; a model with more is described by its groups."""


def run(request: Mapping[str, Any], report: Report) -> None:
    """Build the model, wrap it where it is plain, and report its units, bytes and findings."""
    began = time.monotonic()
    setting, memory, asked = _asked(request, report)
    hide_gpus()
    try:
        import torch
    except ImportError as error:
        report.skip("no-torch", str(error))
    report.fact("torch", str(torch.__version__))
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel  # noqa: F401
        from torch.testing._internal.distributed import fake_pg  # noqa: F401
    except ImportError as error:
        report.skip("fsdp-no-fake-group", str(error))
    name = str(request["model"])
    report.stage("fsdp-build", model=name, world_size=setting.world_size)
    with _pretended(setting) as ties:
        try:
            model = _model(name, request, report)
        except source.Unusable as error:
            _unusable(error, report)
            return
        plan = _plan(model, _classes(request), setting, ties, report)
    if plan is None:
        return
    report.stage("fsdp-count", units=len(plan.units))
    _conclude(plan, setting, memory, asked, report)
    report.fact("seconds", round(time.monotonic() - began, 2))
    report.fact("peak_rss_bytes", _peak_rss())


def _asked(request: Mapping[str, Any], report: Report) -> tuple[Setting, int | None, str | None]:
    """Return the setting, the GPU's memory and the strategy that were asked for; wrong values end the probe."""
    if not isinstance(request.get("model"), str) or not request["model"]:
        report.fail("fsdp-model-spec", str(request.get("model", "")))
    try:
        ranks = int(request.get("world_size") or 0)
        node = int(request.get("gpus_per_node") or min(8, max(1, ranks)))
    except (TypeError, ValueError):
        ranks, node = 0, 0
    if ranks < 1 or node < 1:
        report.fail("fsdp-world-size", str(request.get("world_size", "")))
    optimizer = str(request.get("optimizer") or "adamw").lower()
    optimizer = "adamw" if optimizer == "adam" else optimizer
    precision = PRECISIONS.get(str(request.get("precision") or "fp32").lower())
    if optimizer not in STATES:
        report.fail("fsdp-optimizer", f"{optimizer} (known: adam, {', '.join(STATES)})")
    if precision is None:
        report.fail("fsdp-precision", f"{request.get('precision')} (known: {', '.join(PRECISIONS)})")
    wanted = str(request["strategy"]).lower().replace(" ", "_") if request.get("strategy") else None
    wanted = ALIASES.get(wanted or "", wanted)
    if wanted is not None and wanted not in STRATEGIES:
        report.fail("fsdp-strategy", f"{wanted} (known: {', '.join(STRATEGIES)})")
    memory = memory_bytes(request.get("gpu_memory"))
    if memory is not None and memory <= 0:
        report.fail("fsdp-gpu-memory", str(request.get("gpu_memory")))
    setting = Setting(ranks, min(node, ranks), optimizer, precision)  # type: ignore[arg-type]
    return setting, memory, wanted


def memory_bytes(text: object) -> int | None:
    """Return `80G`, `80GB`, `80GiB`, `0.5T` or a number of bytes as bytes; 0 for anything else, None for none.

    Units are binary: an "80 GB" H100 has close to 80 GiB.
    """
    if text is None or text == "":
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(text), re.IGNORECASE)
    if not match:
        return 0
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


@contextlib.contextmanager
def _pretended(setting: Setting) -> Iterator[Ties]:
    from distkb_probes.sharding.nowhere import nowhere
    from distkb_probes.sharding.ties import Ties, watching
    from distkb_probes.sharding.world import stand_ins, world

    ties = Ties()
    with world(setting.world_size, setting.per_node), stand_ins(setting.per_node), watching(ties), nowhere():
        yield ties


def _model(name: str, request: Mapping[str, Any], report: Report) -> Any:
    from torch import nn

    from distkb_probes.sharding.read import api_of

    function = source.load(name, request.get("directory"))
    model = source.call(function, name)
    if isinstance(model, (tuple, list)) and model and isinstance(model[0], nn.Module):
        # `return model, optimizer` is common.
        model = model[0]
    if isinstance(model, nn.parallel.DistributedDataParallel):
        report.fact("unwrapped", "DistributedDataParallel")
        model = model.module
    if not isinstance(model, nn.Module):
        report.fail("fsdp-not-a-module", f"{name} returned {type(model).__name__}")
    lazy = [name for name, param in model.named_parameters() if hasattr(param, "materialize")]
    if lazy:
        report.fail("fsdp-lazy", some(lazy))
    if str(request.get("precision")).lower() == "pure-bf16" and api_of(model) == "none":
        model.bfloat16()
    return model


def _unusable(error: source.Unusable, report: Report) -> None:
    """Report why there is no model: as a finding where torch's refusal is one we know, else as the probe's end."""
    found = _refused(error.cause)
    if error.place:
        report.fact("at", {"path": error.place.path, "line": error.place.line, "text": error.place.text})
    if found:
        quotes = [{"text": error.place.text, "path": error.place.path, "line": error.place.line}] if error.place else []
        report.fact("refused", error.detail)
        report.found(found.id, values=found.values, quotes=quotes)
        return
    where = f"{error.place.path}:{error.place.line}: `{error.place.text}`: " if error.place else ""
    report.fail(f"fsdp-{error.code}", f"{where}{error.detail}")


def _refused(cause: BaseException | None) -> Found | None:
    """Return what FSDP1 refused to flatten, with the names of the parameters, which its message does not have."""
    message = str(cause)
    mixed = _MIXED.search(message)
    if mixed:
        trained, frozen = (re.findall(r"'([^']+)'", listed) for listed in mixed.group("trained", "frozen"))
        values = {"unit": mixed["unit"], "frozen": some(frozen, 2), "trained": some(trained, 2)}
        return Found("model.frozen-refused", values)
    if "Must flatten tensors with uniform" not in message:
        return None
    found = source.locals_of(cause, "_init_flat_param_and_metadata")
    module, params = found.get("module"), found.get("params")
    if module is None or params is None:
        return None
    from distkb_probes.sharding.blocks import kind_of
    from distkb_probes.sharding.read import clean, dtype_name

    wanted = {id(param) for param in params}
    named = [(clean(name), param) for name, param in module.named_parameters() if id(param) in wanted]
    unit = kind_of(module)
    if "requires_grad" in message:
        shown = [Param(name, tuple(param.shape), "", param.requires_grad) for name, param in named]
        return Found("model.frozen-refused", frozen_values(unit, shown))
    kinds: dict[str, list[str]] = {}
    for name, param in named:
        kinds.setdefault(dtype_name(param.dtype) or "", []).append(name)
    return mixed_dtypes(unit, kinds)


def _classes(request: Mapping[str, Any]) -> tuple[str, ...]:
    asked = request.get("wrap") or ()
    names = asked.split(",") if isinstance(asked, str) else [part for item in asked for part in str(item).split(",")]
    return tuple(name.strip().rpartition(".")[2] for name in names if name.strip())


def _plan(model: Any, classes: tuple[str, ...], setting: Setting, ties: Ties, report: Report) -> Plan | None:
    """Return the plan of the model, wrapped by us where it is plain; None where `wrap` names what it does not have."""
    from distkb_probes.sharding.blocks import class_names, instances
    from distkb_probes.sharding.read import read
    from distkb_probes.sharding.wrap import wrap

    plan = read(model, ties)
    report.fact("api", plan.api)
    report.fact("callable_class", type(model).__name__)
    if plan.api != "none":
        return plan
    missing = [name for name in classes if not instances(model, (name,))]
    if missing:
        known = class_names(model)
        report.fact("classes", list(known))
        report.found(
            "model.wrap-class-missing", values={"names": ", ".join(missing), "known": some(list(known), 6)}, quotes=[]
        )
        return None
    chosen = classes or plan.blocks
    report.fact("wrapped_by_probe", list(chosen))
    wrapped, refused = wrap(model, plan, chosen, setting.precision, ties)
    if refused:
        report.found("model.fully-shard-refuses", values={"error": refused})
    return wrapped


def _conclude(plan: Plan, setting: Setting, memory: int | None, asked: str | None, report: Report) -> None:
    rows = table(plan, setting)
    chosen = asked if asked in rows else "built" if "built" in rows else "fsdp2"
    found = judge(plan, setting)
    if memory is not None:
        found += judge_memory(rows, chosen, memory, plan, setting)
    for item in found:
        report.found(item.id, values=item.values)
    report.clear(*(name for name in IDS if memory is not None or name not in MEMORY_IDS))
    _facts(plan, setting, rows, chosen, report)
    report.fact("gpu_memory_bytes", memory)
    report.fact("fits", {name: item.peak <= memory for name, item in rows.items()} if memory is not None else {})


def _facts(plan: Plan, setting: Setting, rows: Mapping[str, Bytes], chosen: str, report: Report) -> None:
    dtypes: Counter[str] = Counter()
    for param in plan.params:
        dtypes[param.dtype] += param.nbytes
    report.fact("world_size", setting.world_size)
    report.fact("gpus_per_node", setting.per_node)
    report.fact("optimizer", setting.optimizer)
    report.fact("precision", setting.precision)
    report.fact(
        "model",
        {
            "parameters": plan.numel,
            "trainable": sum(param.numel for param in plan.params if param.trainable),
            "bytes_by_dtype": dict(dtypes),
            "buffers_bytes": sum(buffer.nbytes for buffer in plan.buffers),
            "tied": [[param.name, *param.also] for param in plan.params if param.also],
        },
    )
    # What the callable wrapped computes as it was told to; precision is about what is not wrapped yet.
    fallback = {"bf16": "bfloat16", "fp16": "float16"}.get(setting.precision) if plan.api == "none" else None
    sizes = [gathered(unit, fallback) for unit in plan.units]
    report.fact("units_total", len(plan.units))
    report.fact("units", [_unit(unit, at) for unit, at in zip(plan.units, sizes, strict=True)][:_UNITS_SHOWN])
    report.fact("unit_groups", groups(plan.units, sizes))
    root = plan.root
    share = root.numel / plan.numel if root and plan.numel else 0.0
    report.fact(
        "root_unit",
        {"parameters": root.numel, "bytes": root.nbytes, "share": round(share, 4), "params": _listed(root.params)}
        if root
        else None,
    )
    report.fact("largest_all_gather_bytes", max(sizes, default=0))
    passing = [size for unit, size in zip(plan.units, sizes, strict=True) if not unit.root]
    report.fact("largest_pair_bytes", pair(passing))
    report.fact("all_gather_without_wrapping_bytes", sum(sizes))
    report.fact("blocks", list(plan.blocks))
    report.fact("offloaded_bytes", sum(unit.local_bytes or 0 for unit in plan.units if unit.offload))
    report.fact("unmanaged", _listed(plan.unmanaged))
    report.fact("ignored", _listed(plan.ignored))
    report.fact("frozen", _listed([param for param in plan.params if not param.trainable]))
    report.fact("strategy", chosen)
    report.fact("strategy_names", {name: names(plan)[name] for name in rows})
    report.fact(
        "per_rank",
        {
            name: {
                "params": item.params,
                "grads": item.grads,
                "optimizer": item.optimizer,
                "total": item.total,
                "working": item.working,
                "peak": item.peak,
            }
            for name, item in rows.items()
        },
    )


def _unit(unit: Unit, size: int) -> dict[str, object]:
    return {
        "name": unit.name,
        "class": unit.kind,
        "root": unit.root,
        "parameters": len(unit.params),
        "numel": unit.numel,
        "bytes": unit.nbytes,
        "all_gather_bytes": size,
        "local_bytes": unit.local_bytes,
        "shard": unit.shard,
        "replicate": unit.replicate,
        "strategy": unit.strategy,
        "reshard_after_forward": unit.reshard,
        "param_dtype": unit.param_dtype,
        "reduce_dtype": unit.reduce_dtype,
        "buffer_dtype": unit.buffer_dtype,
        "offload": unit.offload,
    }


def groups(units: Sequence[Unit], sizes: Sequence[int]) -> list[dict[str, object]]:
    """Return units that are alike as one line each: class, size, dtypes, and how many there are."""
    counted: Counter[tuple[str, bool, int, int, str | None]] = Counter()
    for unit, size in zip(units, sizes, strict=True):
        counted[unit.kind, unit.root, len(unit.params), size, unit.param_dtype] += 1
    return [
        {"class": kind, "root": root, "parameters": params, "all_gather_bytes": size, "param_dtype": dtype, "count": n}
        for (kind, root, params, size, dtype), n in counted.items()
    ]


def _listed(params: Sequence[Param], limit: int = 20) -> dict[str, object]:
    return {
        "count": len(params),
        "numel": sum(param.numel for param in params),
        "names": [param.name for param in params[:limit]],
    }


def _peak_rss() -> int | None:
    """Return the most memory this process has used, in bytes (Linux counts in KiB, macOS in bytes)."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
