"""Takes the stacks on every node of a job with one command for each way to it: srun, kubectl exec, ssh.

The nodes need a Python and nothing else: the probe goes there on stdin (`distkb_probes.stack.courier`) and its answer
comes back on stdout. The answers of all nodes are one answer; a node that gave none is named.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import subprocess
import threading
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from distkb_probes._report import Report
from distkb_probes.stack import reach
from distkb_probes.stack.reach import Reach

_PACKAGE = Path(__file__).resolve().parents[1]
_SENT = (
    "__init__.py",
    "_lifeline.py",
    "_report.py",
    "secret_kinds.py",
    "serve.py",
    "stacks.py",
    "environment",
    "stack",
)
_PART = re.compile(r"distkb-node (\S{1,255}) (\d{1,6})/(\d{1,6}) ([A-Za-z0-9+/=]+)\s*$")
_WITH_HOST = frozenset({"stacks.rank-stopped", "stacks.unread", "stacks.environ-hidden", "stacks.others-ranks"})
"""Findings that name their host, or whose pids are words of a command."""
_MOST_AT_ONCE = 32
_SPARE_S = 3.0
"""Seconds kept back for the way there and back."""


def run(request: Mapping[str, Any], report: Report, deadline: float) -> None:
    """Ask all nodes; the report is that of one probe that saw all of them."""
    report.stage("stacks.nodes")
    asked: dict[str, Any] = {name: request[name] for name in ("snapshots", "recorders", "tools") if name in request}
    asked["every"] = True
    reaches, asked["slurm"] = reach.plan(request["via"], str(request.get("node_python") or "python3"), report)
    report.stage("stacks.dump-nodes", n=sum(len(one.nodes) for one in reaches))
    asked["deadline_s"] = max(2.0, deadline - time.monotonic() - _SPARE_S)
    parcel = json.dumps({"probes": base64.b64encode(_packed()).decode(), "request": asked}).encode()
    with ThreadPoolExecutor(max_workers=min(_MOST_AT_ONCE, len(reaches) or 1)) as pool:
        list(pool.map(lambda one: _ask(one, parcel, deadline), reaches))
    _merge(reaches, report)


def _packed() -> bytes:
    """Return the modules that this probe is made of, as a zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _SENT:
            path = _PACKAGE / name
            for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
                archive.write(file, f"{_PACKAGE.name}/{file.relative_to(_PACKAGE)}")
    return packed.getvalue()


def _ask(one: Reach, parcel: bytes, deadline: float) -> None:
    """Run a command until all its nodes have answered, it has ended, or the time is over."""
    if not one.command:
        return
    try:
        child = subprocess.Popen(  # noqa: S603 - our own words; the names were checked
            one.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=reach.environment(),
        )
    except OSError as problem:
        one.error = f"{one.command[0]}: {problem.strerror}"
        return
    said: list[bytes] = []
    errors: list[bytes] = []
    # Threads, because a command that hangs neither reads nor writes.
    threads = [
        threading.Thread(target=_feed, args=(child.stdin, parcel), daemon=True),
        threading.Thread(target=_drain, args=(child.stdout, said), daemon=True),
        threading.Thread(target=_drain, args=(child.stderr, errors), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        child.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        one.error = "timeout"
        child.terminate()
        try:
            child.wait(2.0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    for thread in threads:
        thread.join(1.0)
    one.said = _answers(b"".join(said).decode("utf-8", "replace"), one.nodes)
    one.error = one.error or reach.last_line(b"".join(errors))


def _feed(pipe: Any, parcel: bytes) -> None:
    with contextlib.suppress(OSError):
        pipe.write(parcel)
        pipe.close()


def _drain(pipe: Any, kept: list[bytes]) -> None:
    size = 0
    while part := pipe.read1(1 << 16):
        size += len(part)
        if size < reach.MOST_BYTES:
            kept.append(part)


def _answers(text: str, nodes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Put the answers together from their parts. A command for one node is answered by that one, whatever its name."""
    parts: dict[str, dict[int, str]] = {}
    whole: dict[str, int] = {}
    for line in text.splitlines():
        if (found := _PART.search(line)) is not None:
            host = nodes[0] if len(nodes) == 1 else found[1]
            parts.setdefault(host, {})[int(found[2])] = found[4]
            whole[host] = int(found[3])
    answers: dict[str, dict[str, Any]] = {}
    for host, some in parts.items():
        if len(some) == whole[host]:
            try:
                packed = base64.b64decode("".join(some[number] for number in sorted(some)))
                document = json.loads(zlib.decompressobj().decompress(packed, reach.MOST_BYTES))
            except (ValueError, zlib.error, RecursionError):
                continue
            if isinstance(document, dict) and isinstance(document.get("facts"), dict):
                answers[host] = document
    return answers


def _merge(reaches: Sequence[Reach], report: Report) -> None:
    documents: list[tuple[str, dict[str, Any]]] = []
    lost: list[tuple[str, str]] = []
    for one in reaches:
        documents += one.said.items()
        short = {name.partition(".")[0] for name in one.said}
        lost += [(node, one.error) for node in one.nodes if node.partition(".")[0] not in short]
    facts = [document["facts"] for _, document in documents]
    dumps = [dump for one in facts for dump in one.get("dumps") or ()]
    _one_job(dumps, report)
    for name in ("dumps", "taken", "unread", "recorders", "failed"):
        report.fact(name, [item for one in facts for item in one.get(name) or ()])
    for name in ("capture_s", "seconds"):
        report.fact(name, max((one.get(name) or 0.0 for one in facts), default=0.0))
    report.fact("nodes", [node for node, _ in documents])
    report.fact("lost_nodes", [{"node": node, "error": error} for node, error in lost])
    for error in dict.fromkeys(error for _, error in lost):
        hosts = ", ".join(node for node, why in lost if why == error)
        report.found("stacks.node-unread", values={"host": hosts, "error": error or "-"})
    clear: set[str] | None = None
    for node, document in documents:
        for item in document.get("found") or ():
            values = dict(item.get("values") or {})
            if len(documents) > 1 and "pids" in values and item["id"] not in _WITH_HOST:
                values["pids"] = f"{values['pids']} ({node})"
            report.found(item["id"], values=values, quotes=item.get("quotes") or ())
        clear = set(document.get("clear") or ()) & (clear if clear is not None else set(document.get("clear") or ()))
    report.clear(*sorted(clear or ()) if not lost else ())
    if not dumps:
        empty = next((document for _, document in documents if document.get("reason")), None)
        if empty is not None:
            reason = str(empty["reason"])
            nobody = reason in ("stacks-no-ranks", "stacks-no-ranks-in-job")
            report.skip("stacks-no-ranks-on-nodes" if nobody else reason, str(empty.get("detail") or ""))
        report.skip("stacks-no-node", lost[0][1] if lost else "")


def _one_job(dumps: Sequence[Mapping[str, Any]], report: Report) -> None:
    """End where the ranks are of several jobs; ranks that name different masters and fit together are of one."""
    jobs: dict[object, list[Mapping[str, Any]]] = {}
    for dump in dumps:
        jobs.setdefault(dump.get("job"), []).append(dump)
    numbers = [dump.get("rank") for dump in dumps]
    fits = len(set(numbers)) == len(numbers) and len({dump.get("world_size") for dump in dumps}) == 1
    if len(jobs) > 1 and not fits:
        listed = ", ".join(f"{one[0].get('pid')} ({one[0].get('host')})" for one in list(jobs.values())[:6])
        report.fail("stacks-several-jobs", listed)
