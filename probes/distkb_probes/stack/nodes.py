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
    "secret_forms.py",
    "secret_kinds.py",
    "serve.py",
    "stacks.py",
    "environment",
    "stack",
)
_PART = re.compile(r"distkb-node (\d{1,6})/(\d{1,6}) ([A-Za-z0-9+/=]+)\s*$")
_WITH_HOST = frozenset({"stacks.rank-stopped", "stacks.unread", "stacks.environ-hidden", "stacks.others-ranks"})
"""Findings that name their host, or whose pids are words of a command."""
_TOLD_BY = ("host", "pid", "rank", "job")
_ROWS = ("dumps", "taken", "unread", "recorders", "failed")
_MOST_AT_ONCE = 32
_MORE_S = 10.0
_LOOK_S = 0.2
_SPARE_S = 3.0
"""Seconds kept back for the way there and back."""


def run(request: Mapping[str, Any], report: Report, deadline: float) -> None:
    """Ask all nodes; the report is that of one probe that saw all of them.

    Where ranks of several jobs run there, `pids` names one of them.
    """
    report.stage("stacks.nodes")
    asked: dict[str, Any] = {name: request[name] for name in ("snapshots", "recorders", "tools") if name in request}
    asked["every"] = True
    reaches, asked["slurm"] = reach.plan(request["via"], str(request.get("node_python") or "python3"), report)
    report.stage("stacks.dump-nodes", n=len(reaches))
    asked["deadline_s"] = max(2.0, deadline - time.monotonic() - _SPARE_S)
    parcel = json.dumps({"probes": base64.b64encode(_packed()).decode(), "request": asked}).encode()
    patience = _Patience(len(reaches), deadline)
    with ThreadPoolExecutor(max_workers=min(_MOST_AT_ONCE, len(reaches) or 1)) as pool:
        list(pool.map(lambda one: _ask(one, parcel, patience), reaches))
    _merge(reaches, report, frozenset(int(pid) for pid in request.get("pids") or ()))


class _Patience:
    """How long to wait for the nodes that are left: a dead one must not hold up the answer of all others."""

    def __init__(self, nodes: int, deadline: float) -> None:
        self._nodes = nodes
        self._answers = 0
        self._began = time.monotonic()
        self._until = deadline
        self._lock = threading.Lock()

    def answered(self) -> None:
        """Note an answer: once most nodes have answered, the others get some time more."""
        with self._lock:
            self._answers += 1
            now = time.monotonic()
            if 2 * self._answers >= self._nodes:
                self._until = min(self._until, now + max(_MORE_S, 2 * (now - self._began)))

    def is_over(self) -> bool:
        """Whether nobody is waited for any longer."""
        return time.monotonic() > self._until


def _packed() -> bytes:
    """Return the modules that this probe is made of, as a zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _SENT:
            path = _PACKAGE / name
            for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
                archive.write(file, f"{_PACKAGE.name}/{file.relative_to(_PACKAGE)}")
    return packed.getvalue()


def _ask(one: Reach, parcel: bytes, patience: _Patience) -> None:
    """Run a command until it has ended, or the time is over."""
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
    while child.poll() is None and not patience.is_over():
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_LOOK_S)
    if child.returncode is None:
        one.error = "timeout"
        child.terminate()
        try:
            child.wait(2.0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    for thread in threads:
        thread.join(1.0)
    one.said = _answer(b"".join(said).decode("utf-8", "replace"))
    one.error = one.error or reach.last_line(b"".join(errors))
    if one.said is not None:
        patience.answered()


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


def _answer(text: str) -> dict[str, Any] | None:
    """Put a node's answer together from its parts; None where one is missing or damaged."""
    found = [part for line in text.splitlines() if (part := _PART.search(line)) is not None]
    parts = {int(part[1]): part[3] for part in found}
    if not found or len(parts) != int(found[0][2]):
        return None
    try:
        packed = base64.b64decode("".join(parts[number] for number in sorted(parts)))
        document = json.loads(zlib.decompressobj().decompress(packed, reach.MOST_BYTES))
    except (ValueError, zlib.error, RecursionError):
        return None
    return _sound(document) if isinstance(document, dict) and isinstance(document.get("facts"), dict) else None


def _sound(document: dict[str, Any]) -> dict[str, Any]:
    """Return a node's answer with only what has the right form: a node may run anything."""
    facts = document["facts"]
    times = {name: facts[name] for name in ("capture_s", "seconds") if isinstance(facts.get(name), (int, float))}
    return {
        "facts": {**{name: _rows(facts.get(name)) for name in _ROWS}, **times},
        "found": [
            {
                "id": item["id"],
                "values": item["values"] if isinstance(item.get("values"), dict) else {},
                "quotes": [row for row in _rows(item.get("quotes")) if set(map(type, row.values())) <= {str}],
            }
            for item in _rows(document.get("found"))
            if isinstance(item.get("id"), str)
        ],
        "clear": [name for name in _list(document.get("clear")) if isinstance(name, str)],
        "reason": document.get("reason"),
        "detail": document.get("detail"),
    }


def _rows(value: object) -> list[dict[str, Any]]:
    """Return the rows of a list; what a process is told by is no list and no mapping in any."""
    rows = (row for row in _list(value) if isinstance(row, dict))
    return [row for row in rows if not any(isinstance(row.get(name), (list, dict)) for name in _TOLD_BY)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _merge(reaches: Sequence[Reach], report: Report, pids: frozenset[int] = frozenset()) -> None:
    documents = [(one.node, one.said) for one in reaches if one.said is not None]
    lost = [(one.node, one.error) for one in reaches if one.said is None]
    facts = [document["facts"] for _, document in documents]
    dumps = [dump for one in facts for dump in one["dumps"]]
    others = _of_other_jobs(dumps, pids, report)
    for name in _ROWS:
        report.fact(name, [item for one in facts for item in one[name] if _process(item) not in others])
    for name in ("capture_s", "seconds"):
        report.fact(name, max((one.get(name) or 0.0 for one in facts), default=0.0))
    report.fact("nodes", [node for node, _ in documents])
    report.fact("lost_nodes", [{"node": node, "error": error} for node, error in lost])
    for error in dict.fromkeys(error for _, error in lost):
        hosts = ", ".join(node for node, why in lost if why == error)
        report.found("stacks.node-unread", values={"host": hosts, "error": error or "-"})
    clear: set[str] | None = None
    for node, document in documents:
        for item in document["found"]:
            values = dict(item["values"])
            if len(documents) > 1 and "pids" in values and item["id"] not in _WITH_HOST:
                values["pids"] = f"{values['pids']} ({node})"
            report.found(item["id"], values=values, quotes=item["quotes"])
        clear = set(document["clear"]) & (clear if clear is not None else set(document["clear"]))
    report.clear(*sorted(clear or ()) if not lost else ())
    if not dumps:
        empty = next((document for _, document in documents if document.get("reason")), None)
        if empty is not None:
            reason = str(empty["reason"])
            nobody = reason in ("stacks-no-ranks", "stacks-no-ranks-in-job")
            report.skip("stacks-no-ranks-on-nodes" if nobody else reason, str(empty.get("detail") or ""))
        report.skip("stacks-no-node", lost[0][1] if lost else "")


def _process(row: Mapping[str, Any]) -> tuple[object, object]:
    return row.get("host"), row.get("pid")


def _of_other_jobs(
    dumps: Sequence[Mapping[str, Any]], pids: frozenset[int], report: Report
) -> set[tuple[object, object]]:
    """Return the host and pid of ranks of other jobs than that of `pids`; ends where nobody chose among several.

    Ranks that name different masters and fit together are of one job.
    """
    jobs: dict[str, list[Mapping[str, Any]]] = {}
    for dump in dumps:
        jobs.setdefault(str(dump.get("job")), []).append(dump)
    numbers = [str(dump.get("rank")) for dump in dumps]
    fits = len(set(numbers)) == len(numbers) and len({str(dump.get("world_size")) for dump in dumps}) == 1
    if len(jobs) < 2 or fits:
        return set()
    chosen = {str(dump.get("job")) for dump in dumps if dump.get("pid") in pids}
    if not chosen:
        listed = ", ".join(f"{one[0].get('pid')} ({one[0].get('host')})" for one in list(jobs.values())[:6])
        report.fail("stacks-several-jobs", listed)
    return {_process(dump) for dump in dumps if str(dump.get("job")) not in chosen}
