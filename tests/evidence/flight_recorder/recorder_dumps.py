"""Builds dumps of the flight recorder, in the bytes that torch's own pickler writes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

T0 = 1_795_000_000_000_000_000


def frame(place: str, name: str = "step") -> dict[str, Any]:
    """A stack frame at `file.py:line`."""
    filename, _, line = place.rpartition(":")
    return {"name": name, "filename": filename, "line": int(line)}


TORCH_FRAMES = [
    frame("/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:3245", "all_reduce"),
    frame("/venv/lib/python3.11/site-packages/torch/distributed/c10d_logger.py:83", "wrapper"),
]


def entry(
    op: str = "all_reduce",
    *,
    seq: int,
    record: int | None = None,
    state: str = "completed",
    sizes: Sequence[Sequence[int]] = ((4, 3),),
    out: Sequence[Sequence[int]] | None = None,
    dtypes: Sequence[str] = ("Float",),
    out_dtypes: Sequence[str] | None = None,
    at: str = "/app/train.py:142",
    group: tuple[str, str] = ("0", "default_pg"),
    p2p: bool = False,
    backend: str = "nccl",
    retired: bool | None = None,
) -> dict[str, Any]:
    """One entry as ProcessGroupNCCL records it."""
    number = seq if record is None else record
    started = T0 + number * 1000 if state != "scheduled" else None
    completed = T0 + number * 1000 + 500 if state == "completed" else None
    return {
        "frames": [*TORCH_FRAMES, frame(at), frame("/app/train.py:200", "<module>")],
        "record_id": number,
        "pg_id": 0,
        "process_group": group,
        "thread_name": "python",
        "thread_id": "140625882278784",
        "collective_seq_id": 0 if p2p else seq,
        "p2p_seq_id": seq if p2p else 0,
        "op_id": number,
        "profiling_name": f"{backend}:{op}",
        "time_created_ns": T0 + number,
        "input_sizes": [list(size) for size in sizes],
        "input_dtypes": list(dtypes),
        "output_sizes": [list(size) for size in (sizes if out is None else out)],
        "output_dtypes": list(dtypes if out_dtypes is None else out_dtypes),
        "state": state,
        "time_discovered_started_ns": started,
        "time_discovered_completed_ns": completed,
        "retired": state == "completed" if retired is None else retired,
        "timeout_ms": 600_000,
        "is_p2p": p2p,
    }


def dump(
    entries: Iterable[dict[str, Any]],
    groups: Mapping[str, tuple[str, Sequence[int]]],
    version: str = "2.10",
) -> dict[str, Any]:
    """The document of one rank; `groups` maps a group's name to its description and its ranks."""
    listed = list(entries)
    for number, item in enumerate(listed):
        item["op_id"] = number + 1
    return {
        "version": version,
        "pg_config": {
            name: {"name": name, "desc": desc, "ranks": "[" + ", ".join(map(str, ranks)) + "]"}
            for name, (desc, ranks) in groups.items()
        },
        "comm_lib_version": "2.27.5",
        "pg_status": {},
        "entries": listed,
    }


def torch_pickle(document: Any) -> bytes:
    """Pickle as torch does: protocol 2, strings once and then by reference, containers never.

    Frames are shared between entries: a dict that was written before is a reference too.
    """
    memo: dict[Any, int] = {}
    kept: list[Any] = []
    out = bytearray(b"\x80\x02")

    def put(key: Any) -> None:
        memo[key] = index = len(memo)
        out.extend(b"q" + bytes((index,)) if index < 256 else b"r" + struct.pack("<I", index))

    def get(index: int) -> None:
        out.extend(b"h" + bytes((index,)) if index < 256 else b"j" + struct.pack("<I", index))

    def write(value: Any) -> None:  # noqa: PLR0912 - one branch a type
        if value is None:
            out.append(ord("N"))
        elif value is True or value is False:
            out.append(0x88 if value else 0x89)
        elif isinstance(value, int):
            _write_int(out, value)
        elif isinstance(value, float):
            out.extend(b"G" + struct.pack(">d", value))
        elif isinstance(value, str):
            if value in memo:
                return get(memo[value])
            data = value.encode()
            out.extend(b"X" + struct.pack("<I", len(data)) + data)
            put(value)
        elif isinstance(value, tuple):
            for item in value:
                write(item)
            out.append({1: 0x85, 2: 0x86, 3: 0x87}[len(value)])
        elif isinstance(value, list):
            out.extend(b"](")
            for item in value:
                write(item)
            out.append(ord("e"))
        elif "filename" in value:
            key = tuple(value.items())
            if key in memo:
                return get(memo[key])
            _write_dict(value)
            put(key)
        else:
            _write_dict(value)
        return None

    def _write_dict(value: dict[Any, Any]) -> None:
        kept.append(value)
        out.extend(b"}(")
        for key, item in value.items():
            write(key)
            write(item)
        out.append(ord("u"))

    write(document)
    out.append(ord("."))
    return bytes(out)


def _write_int(out: bytearray, value: int) -> None:
    if 0 <= value < 256:
        out.extend(b"K" + bytes((value,)))
    elif 0 <= value < 65536:
        out.extend(b"M" + struct.pack("<H", value))
    elif -(2**31) <= value < 2**31:
        out.extend(b"J" + struct.pack("<i", value))
    else:
        out.extend(b"\x8a\x08" + struct.pack("<q", value))
