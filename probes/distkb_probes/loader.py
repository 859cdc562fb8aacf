"""The loader probe: builds the data loader of each rank in turn, without a process group, and compares them.

Request keys: `loader` ("module:callable" or "file.py:callable"), `world_size` (2 or more), and optionally `directory`
(searched for the module), `epochs` (2), `max_batches` (of a stream, 50), `seconds` (after which no further rank is
begun, 60). The callable takes no argument, or `rank` and `world_size` by name or in this order.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import select
import signal
import tempfile
import time
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkb_probes.sharding import source

if TYPE_CHECKING:
    from distkb_probes._report import Report

MOST_REPLY = 4 << 20
"""Bytes that a rank may answer."""


def run(request: Mapping[str, Any], report: Report) -> None:
    """Build and describe the loaders, then report what differs and what is read twice."""
    name, world_size = _asked(request, report)
    if not hasattr(os, "fork"):
        report.skip("loader-no-fork")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a job may be running on the GPUs
    try:
        import torch
    except ImportError as error:
        report.skip("no-torch", str(error))
    report.fact("torch", str(torch.__version__))
    report.fact("world_size", world_size)
    end = time.monotonic() + float(request.get("seconds") or 60.0)
    answers: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="distkb-loader-") as folder:
        for rank in _order(world_size):
            if time.monotonic() > end:
                break
            report.stage("loader-build", rank=rank, world_size=world_size)
            answer = _one_rank(name, rank, world_size, {**request, "end": end}, folder)
            if answer is not None:
                answers[rank] = answer
        _conclude(dict(sorted(answers.items())), world_size, Path(folder), report)


def _asked(request: Mapping[str, Any], report: Report) -> tuple[str, int]:
    name = request.get("loader")
    if not isinstance(name, str) or ":" not in name:
        report.fail("loader-spec", str(name or ""))
    try:
        world_size = int(request.get("world_size") or 0)
    except (TypeError, ValueError):
        world_size = 0
    if world_size < 2:
        report.fail("loader-world-size", str(request.get("world_size", "")))
    return name, world_size


def _order(world_size: int) -> list[int]:
    """Return the ranks with the last after the first: it gets what is left over, so it differs most often."""
    return [0, world_size - 1, *range(1, world_size - 1)]


def _one_rank(name: str, rank: int, world_size: int, request: Mapping[str, Any], folder: str) -> dict[str, Any] | None:
    """Return what a child process that is `rank` found; None where its time ran out."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_rank(name, rank, world_size, request, folder, writing)
    os.close(writing)
    reply = bytearray()
    try:
        while len(reply) < MOST_REPLY:
            left = float(request["end"]) + 2.0 - time.monotonic()
            if left <= 0 or not select.select([reading], [], [], left)[0]:
                return None
            data = os.read(reading, 1 << 16)
            reply += data
            # a worker of the user's loader may hold the pipe open, so the line's end tells, not the pipe's
            if not data or data.endswith(b"\n"):
                break
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    try:
        return dict(json.loads(reply))
    except ValueError:
        return {"code": "callable-failed", "detail": f"the process ended with status {status}"}


def _be_rank(name: str, rank: int, world_size: int, request: Mapping[str, Any], folder: str, out: int) -> None:
    """Run in the child and end it."""
    from distkb_probes._lifeline import die_with_parent

    die_with_parent()
    try:
        answer = _build(name, rank, world_size, request, folder)
    except source.Unusable as error:
        at = None if error.place is None else [error.place.path, error.place.line, error.place.text]
        answer = {"code": error.code, "detail": error.detail, "place": at}
    except BaseException as error:  # noqa: BLE001 - whatever the user's data does, the parent gets an answer
        place = source.place(error.__traceback__)
        at = None if place is None else [place.path, place.line, place.text]
        answer = {"code": "read-failed", "detail": f"{type(error).__name__}: {error}"[:400], "place": at}
    with os.fdopen(out, "wb") as file:
        file.write(json.dumps(answer).encode() + b"\n")
    os._exit(0)


def _build(name: str, rank: int, world_size: int, request: Mapping[str, Any], folder: str) -> dict[str, Any]:
    from distkb_probes.loading.describe import Limits, describe, is_loader, mentions_set_epoch, pick
    from distkb_probes.loading.pretend import pretend

    pretend(rank, world_size)
    function = source.load(name, request.get("directory"))
    returned = source.call(_with_rank(function, rank, world_size), name)
    loader = pick(returned)
    if not is_loader(loader):
        raise source.Unusable("not-a-loader", f"{name} returned {type(returned).__name__}")
    limits = Limits(
        max(1, int(request.get("epochs") or 2)), max(1, int(request.get("max_batches") or 50)), float(request["end"])
    )
    facts, keys = describe(loader, limits)
    Path(folder, f"{rank}.keys").write_bytes(keys.tobytes())
    return {"facts": {**facts, "source_calls_set_epoch": mentions_set_epoch(function)}}


def _with_rank(function: Callable[..., Any], rank: int, world_size: int) -> Callable[..., Any]:
    """Pass rank and world size to a callable that cannot do without them."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return function
    if {"rank", "world_size"} <= set(parameters):
        return functools.partial(function, rank=rank, world_size=world_size)
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters.values() if p.kind in plain and p.default is inspect.Parameter.empty]
    return functools.partial(function, rank, world_size) if len(needed) == 2 else function


def _conclude(answers: Mapping[int, Mapping[str, Any]], world_size: int, folder: Path, report: Report) -> None:
    from distkb_probes.loading.judge import IDS, judge

    if not answers:
        report.fail("loader-no-time", "0")
    facts = {rank: answer["facts"] for rank, answer in answers.items() if "facts" in answer}
    failures = {rank: answer for rank, answer in answers.items() if "facts" not in answer}
    if not facts:
        first = next(iter(failures.values()))
        at = first.get("place")
        where = f"{at[0]}:{at[1]}: `{at[2]}`: " if at else ""
        code = {"read-failed": "callable-failed", "model-spec": "spec"}.get(first["code"], first["code"])
        report.fail(
            "loader-needs-arguments" if code == "needs-arguments" else f"loader-{code}", where + first["detail"]
        )
    keys: dict[int, array[int]] = {}
    for rank in facts:
        keys[rank] = array("q")
        keys[rank].frombytes(Path(folder, f"{rank}.keys").read_bytes())
    found, summary = judge(facts, keys, world_size)
    for rank, failure in failures.items():
        at = failure.get("place")
        quotes = [{"text": at[2], "path": at[0], "line": at[1], "rank": rank}] if at else []
        report.found("loader.build-failed", values={"ranks": rank, "error": failure["detail"]}, quotes=quotes)
    for item in found:
        report.found(item.id, values=item.values)
    report.clear(*IDS)
    report.fact("ranks_checked", len(answers))
    report.fact("samples", summary)
    report.fact("ranks", [{"rank": rank, **facts[rank], **summary["by_rank"][str(rank)]} for rank in facts])
