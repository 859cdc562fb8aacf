"""Are the parameters, buffers and gradients the same on every rank?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from distkb_probes.live._check import Check, Verdict
from distkb_probes.live._exchange import Sheet
from distkb_probes.live._hash import Reader, Reading
from distkb_probes.live._managed import SHARDED, is_dtensor, plain_name, survey, wrappers
from distkb_probes.live._ranks import classes, odd_ones, spans
from distkb_probes.live._result import finding

if TYPE_CHECKING:
    import torch

_COMPARED = 8
"""Ranks whose tensors are compared one by one: one of each group of ranks that have the same."""
_BATCHNORM = ("running_mean", "running_var", "num_batches_tracked")
_ASPECTS = ("shape", "dtype", "device", "requires-grad")
_SINGULAR = {"params": "parameter", "buffers": "buffer", "gradients": "gradient", "tensors": "tensor"}
Row = dict[str, Any]
"""One tensor as one rank sees it: name, the aspects, checksum (None: not to be compared), norm, finite."""


class TensorCheck(Check):
    """Compares tensors by name: presence, shape, dtype, device type, requires_grad, bytes if replicated."""

    def __init__(self, source: Any, what: str, deadline: float, *, skip_batchnorm: bool = False) -> None:
        self.source, self.what, self.deadline, self.skip = source, what, deadline, skip_batchnorm
        self.name = {"params": "parameters"}.get(what, what)
        one = _SINGULAR[what]
        self.ids = (
            f"live.{self.name}-differ",
            f"live.nonfinite-{one}",
            "live.tensor-missing",
            *(f"live.tensor-{aspect}" for aspect in _ASPECTS),
            *(("live.gradient-missing-on-ranks", "live.gradient-unused") if what == "gradients" else ()),
        )

    def collect(self) -> Sheet:
        """Read this rank's tensors."""
        reader = Reader(self.deadline, norms=self.what == "gradients")
        rows, readings = [], []
        for name, tensor, compared, extra in self._tensors():
            local = _local(tensor)
            reading = reader.read(local) if local is not None else Reading()
            rows.append({"name": name, **_described(tensor), **extra, "compared": compared})
            readings.append(reading)
        reader.finish()
        bad = []
        for row, reading in zip(rows, readings, strict=True):
            row["sum"] = f"{reading.checksum:016x}" if row.pop("compared") and reading.checksum is not None else None
            if self.what == "gradients":
                row["norm"] = reading.norm
            if reading.finite is False:
                bad.append(row["name"])
        digest = hashlib.sha256(json.dumps([{**row, "norm": None} for row in rows]).encode()).hexdigest()
        summary = {"digest": digest, "count": len(rows), "bad": bad[:5], "bad_count": len(bad), "all": reader.in_time}
        if self.what == "gradients":
            summary["with"] = sum(row["has"] for row in rows)
            summary["norm"] = sum((reading.norm or 0.0) ** 2 for reading in readings) ** 0.5
            summary["unused_matters"] = self._unused_matters()
        return Sheet(summary, rows)

    def wants(self, summaries: Mapping[int, Any]) -> list[int]:
        """Ask one rank of each group of equal ones; for gradients at least one, to name the unused."""
        groups = classes({rank: summary["digest"] for rank, summary in summaries.items()})
        if len(groups) == 1 and not (self.what == "gradients" and _some_unused(summaries)):
            return []
        return [group[0] for group in groups[:_COMPARED]]

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:
        """Name the first tensor that differs in each respect, and the ranks."""
        found = self._nonfinite(summaries)
        groups = classes({rank: summary["digest"] for rank, summary in summaries.items()})
        members = {rank: group for group in groups for rank in group[:1] if rank in details}
        tables = {rank: {row["name"]: row for row in details[rank]} for rank in members}
        names = list(dict.fromkeys(name for table in tables.values() for name in table))
        if self.what == "gradients":
            found += self._none(summaries, tables, members, names)
        if len(tables) > 1:
            found += self._differing(tables, members, names)
        facts: dict[str, Any] = {"tensors": max(summary["count"] for summary in summaries.values())}
        facts["groups_of_equal_ranks"] = len(groups)
        if not all(summary["all"] for summary in summaries.values()):
            facts["not_all_read_in_time"] = True
        if self.what == "gradients":
            facts["with_gradient"] = {str(rank): summary["with"] for rank, summary in summaries.items()}
            facts["norm"] = {str(rank): _json_float(summary["norm"]) for rank, summary in summaries.items()}
        return found, facts

    def _tensors(self) -> Iterable[tuple[str, Any, bool, Row]]:
        """Yield name, tensor or None, whether its bytes must be equal on all ranks, and further columns."""
        if not hasattr(self.source, "named_parameters"):
            for name, tensor in tensors_in(self.source):
                yield name, tensor, not _is_sharded(tensor), {}
        elif self.what == "buffers":
            for name, tensor in self.source.named_buffers():
                if not (self.skip and name.endswith(_BATCHNORM)):
                    yield plain_name(name), tensor, not _is_sharded(tensor), {}
        else:
            for item in survey(self.source):
                sharded = item.kind in SHARDED or _is_sharded(item.dtensor)
                # FSDP1 and ZeRO-3 leave a rank with pieces whose local shape says nothing about the whole
                pieces = item.kind in {"fsdp1", "zero"}
                columns: Row = {"shape": None} if pieces else {}
                if self.what == "params":
                    yield item.name, item.parameter, not sharded, columns
                elif item.parameter.requires_grad and not pieces:
                    grad = item.parameter.grad
                    yield item.name, grad, not sharded, {**columns, "has": grad is not None}

    def _unused_matters(self) -> bool:
        """True where DDP would wait for a parameter without gradient."""
        found = wrappers(self.source) if hasattr(self.source, "modules") else []
        return any(
            not getattr(one, "find_unused_parameters", True) and not getattr(one, "static_graph", False)
            for one in found
        )

    def _nonfinite(self, summaries: Mapping[int, Any]) -> list[Row]:
        ranks = [rank for rank, summary in summaries.items() if summary["bad_count"]]
        if not ranks:
            return []
        first = summaries[ranks[0]]
        rest = len(summaries) - len(ranks)
        evidence = [
            f"rank {rank}: {summaries[rank]['bad_count']} ({', '.join(summaries[rank]['bad'])})" for rank in ranks
        ]
        name = f"live.nonfinite-{_SINGULAR[self.what]}"
        values = {"name": first["bad"][0], "total": first["bad_count"], "others": rest}
        return [finding(name, ranks=ranks, evidence=evidence[:_COMPARED], values=values)]

    def _none(
        self,
        summaries: Mapping[int, Any],
        tables: Mapping[int, Any],
        members: Mapping[int, list[int]],
        names: list[str],
    ) -> list[Row]:
        """Parameters without gradient: on some ranks, or on all while the rest of the model has gradients."""
        found = []
        lacking = {
            name: [r for r, table in tables.items() if not table.get(name, {}).get("has", True)] for name in names
        }
        some = {name: ranks for name, ranks in lacking.items() if ranks and len(ranks) < len(tables)}
        if some:
            name = next(iter(some))
            ranks = sorted(rank for one in some[name] for rank in members[one])
            values = {"name": name, "total": len(some), "others": len(summaries) - len(ranks)}
            found.append(finding("live.gradient-missing-on-ranks", ranks=ranks, values=values))
        nowhere = [name for name, ranks in lacking.items() if tables and len(ranks) == len(tables)]
        matters = any(summary["unused_matters"] for summary in summaries.values())
        if nowhere and matters and len(nowhere) < len(names):
            evidence = nowhere[:5]
            values = {"name": nowhere[0], "total": len(nowhere)}
            found.append(finding("live.gradient-unused", ranks=summaries, evidence=evidence, values=values))
        return found

    def _differing(self, tables: Mapping[int, Any], members: Mapping[int, list[int]], names: list[str]) -> list[Row]:
        checks = [("missing", "live.tensor-missing")] if self.what != "gradients" else []
        checks += [(aspect, f"live.tensor-{aspect}") for aspect in _ASPECTS]
        found, blamed = [], set()
        for aspect, identity in (*checks, ("sum", f"live.{self.name}-differ")):
            differing = [name for name in names if name not in blamed and _values(tables, name, aspect) is not None]
            if not differing:
                continue
            blamed.update(differing)
            found.append(self._difference(identity, aspect, differing, tables, members))
        return found

    def _difference(
        self,
        identity: str,
        aspect: str,
        differing: list[str],
        tables: Mapping[int, Any],
        members: Mapping[int, list[int]],
    ) -> Row:
        name = differing[0]
        seen = _values(tables, name, aspect) or {}
        by_rank = {rank: value for one, value in seen.items() for rank in members[one]}
        odd, most = odd_ones(by_rank)
        values = {"name": name, "total": len(differing), "others": len(most), "what": self.name}
        if aspect != "sum":
            values |= {"value": by_rank[odd[0]], "expected": by_rank[most[0]]}
        evidence = []
        for one, value in seen.items():
            norm = tables[one].get(name, {}).get("norm")
            told = (
                f"checksum {value}" + (f", norm {norm:.6g}" if norm is not None else "") if aspect == "sum" else value
            )
            evidence.append(f"rank {spans(members[one])}: {name}: {told}")
        return finding(identity, ranks=odd, evidence=evidence, values=values)


def _values(tables: Mapping[int, Any], name: str, aspect: str) -> dict[int, str] | None:
    """Return what each rank has of a tensor, None where that does not differ or is not known of two ranks."""
    if aspect == "missing":
        seen = {rank: "present" if name in table else "absent" for rank, table in tables.items()}
    else:
        rows = {rank: table[name] for rank, table in tables.items() if name in table}
        seen = {rank: str(row[aspect]) for rank, row in rows.items() if row.get(aspect) is not None}
    return seen if len(set(seen.values())) > 1 else None


def _some_unused(summaries: Mapping[int, Any]) -> bool:
    return any(summary["unused_matters"] and 0 < summary["with"] < summary["count"] for summary in summaries.values())


def _described(tensor: Any) -> Row:
    if tensor is None:
        return dict.fromkeys(_ASPECTS)
    try:
        shape: Any = list(tensor.shape)
    except (RuntimeError, ValueError):  # a lazy module's parameter has no shape yet
        shape = None
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"shape": shape, "dtype": dtype, "device": tensor.device.type, "requires-grad": tensor.requires_grad}


def _is_sharded(tensor: Any) -> bool:
    return is_dtensor(tensor) and not all(placement.is_replicate() for placement in tensor.placements)


def _local(tensor: Any) -> torch.Tensor | None:
    """Return the part of a tensor that is on this rank, without communication."""
    if tensor is None:
        return None
    if is_dtensor(tensor):
        tensor = tensor._local_tensor  # noqa: SLF001 - to_local() would wait for collectives
    if getattr(tensor, "is_sparse", False):
        return None
    return tensor  # type: ignore[no-any-return]


def tensors_in(source: Any, prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the tensors of nested dicts, lists and tuples with their paths."""
    if hasattr(source, "element_size") and hasattr(source, "device"):
        yield prefix or "tensor", source
    elif isinstance(source, Mapping):
        for key, value in source.items():
            yield from tensors_in(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(source, (list, tuple)):
        for index, value in enumerate(source):
            yield from tensors_in(value, f"{prefix}.{index}" if prefix else str(index))


def _json_float(value: float) -> float | str:
    return value if value == value and abs(value) != float("inf") else str(value)  # noqa: PLR0124 - NaN
