"""Takes the stacks on every node of a job with one command for each way to it: srun, kubectl exec, ssh.

The nodes need a Python and nothing else: the probe goes there on stdin (`distkb_probes.stack.courier`) and its answer
comes back on stdout. The answers of all nodes are one answer; a node that gave none is named.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distkb_probes._report import Report
from distkb_probes.environment.variables import mask_text

_HERE = Path(__file__).resolve().parent
_PACKAGE = _HERE.parent
_SENT = ("__init__.py", "_lifeline.py", "_report.py", "secret_kinds.py", "serve.py", "stacks.py", "environment", "stack")
_FIND = 'p=$(command -v "$0" || command -v python3 || command -v python) || { echo "no python" >&2; exit 127; }; exec "$p" -c "$1"'
"""Takes the Python that was asked for where a node has it, else its own."""
_PART = re.compile(r"distkb-node (\S{1,255}) (\d{1,6})/(\d{1,6}) ([A-Za-z0-9+/=]+)\s*$")
_MOST_AT_ONCE = 32
_MOST_BYTES = 64 << 20
_ASK_S = 20.0
_SPARE_S = 3.0
"""Seconds kept back for the way there and back."""
_LABELS = ("training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-name", "job-name")
"""What the pods of a PyTorchJob, a JobSet (also of a TrainJob) and a Job carry."""
_NAME = re.compile(r"[A-Za-z0-9][\w.@:+-]{0,252}")


@dataclass
class Reach:
    """One command, the nodes that should answer to it, and what they said."""

    command: list[str]
    nodes: tuple[str, ...]
    said: dict[str, dict[str, Any]] = field(default_factory=dict)
    error: str = ""


def run(request: Mapping[str, Any], report: Report, deadline: float) -> None:
    """Ask all nodes; the report is that of one probe that saw all of them."""
    report.stage("stacks.nodes")
    via, python = request["via"], str(request.get("node_python") or "python3")
    for name in (*str(via.get("slurm", via.get("pods", "x"))).split("/"), *map(str, via.get("hosts", ()))):
        if _NAME.fullmatch(name) is None:
            report.fail("stacks-bad-name", name[:80])
    asked: dict[str, Any] = {name: request[name] for name in ("snapshots", "recorders", "tools") if name in request}
    asked["every"] = True
    if "slurm" in via:
        job, nodes = _slurm(str(via["slurm"]), report)
        asked["slurm"] = job
        reaches = [_srun(job, nodes, python)]
    elif "pods" in via:
        reaches = _kubectl(str(via["pods"]), python, report)
    else:
        reaches = [_ssh(str(host), python) for host in via["hosts"]]
    report.stage("stacks.dump-nodes", n=sum(len(reach.nodes) for reach in reaches))
    asked["deadline_s"] = max(2.0, deadline - time.monotonic() - _SPARE_S)
    parcel = json.dumps({"probes": base64.b64encode(_packed()).decode(), "request": asked}).encode()
    with ThreadPoolExecutor(max_workers=min(_MOST_AT_ONCE, len(reaches) or 1)) as pool:
        list(pool.map(lambda reach: _ask(reach, parcel, deadline), reaches))
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


def _there(python: str) -> list[str]:
    """Return the command that runs on a node."""
    return ["sh", "-c", _FIND, python, (_HERE / "courier.py").read_text(encoding="utf-8")]


def _slurm(asked: str, report: Report) -> tuple[str, tuple[str, ...]]:
    """Return the number of a running job, with its step where one was named, and its nodes."""
    job, _, step = asked.partition(".")
    said = _said(["squeue", "--noheader", "--jobs", job, "--format", "%A|%T|%N"], "stacks-no-slurm", report)
    rows = [line.strip().split("|") for line in said.splitlines() if line.count("|") == 2]
    if not rows:
        report.fail("stacks-no-job", asked)
    running = [row for row in rows if row[1] in ("RUNNING", "COMPLETING", "SUSPENDED")]
    if not running:
        report.fail("stacks-job-not-running", f"{asked}: {rows[0][1]}")
    if len(running) > 1:
        report.fail("stacks-several-jobs", ", ".join(row[0] for row in running[:8]))
    number, _, hosts = running[0]
    nodes = _said(["scontrol", "show", "hostnames", hosts], "stacks-no-slurm", report).split()
    return (f"{number}.{step}" if step else number), tuple(nodes)


def _srun(job: str, nodes: Sequence[str], python: str) -> Reach:
    number = job.partition(".")[0]
    n = str(len(nodes))
    return Reach(
        [
            *("srun", f"--jobid={number}", "--overlap", "--nodes", n, "--ntasks", n, "--ntasks-per-node=1"),
            *("--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=0", "--job-name=distkb", *_there(python)),
        ],
        tuple(nodes),
    )


def _kubectl(name: str, python: str, report: Report) -> list[Reach]:
    """Return a command for every pod that runs; those that do not are nodes without an answer."""
    space, _, job = name.rpartition("/")
    within = ["--namespace", space] if space else []
    for label in _LABELS:
        selector = f"{label}={job}"
        said = _said(["kubectl", "get", "pods", *within, "-l", selector, "-o", "json"], "stacks-no-kubectl", report)
        try:
            pods = [(str(pod["metadata"]["name"]), str(pod["status"]["phase"])) for pod in json.loads(said)["items"]]
        except (ValueError, KeyError, TypeError):
            report.fail("stacks-no-kubectl", said[:200])
        if pods:
            return [
                Reach(["kubectl", "exec", "-i", *within, pod, "--", *_there(python)], (pod,))
                if phase == "Running"
                else Reach([], (pod,), error=phase)
                for pod, phase in pods
            ]
    report.fail("stacks-no-pods", name)


def _ssh(host: str, python: str) -> Reach:
    there = shlex.join(_there(python))
    return Reach(["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, "--", there], (host,))


def _said(command: list[str], code: str, report: Report) -> str:
    """Return what a command printed; the probe ends where it cannot be run."""
    try:
        done = subprocess.run(  # noqa: S603 - our own words; the name was checked
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False, env=_environment()
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        report.fail(code, f"{command[0]}: {getattr(problem, 'strerror', None) or 'timeout'}")
    if done.returncode:
        report.fail(code, f"{command[0]}: {_last(done.stderr)}")
    return done.stdout[:_MOST_BYTES].decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """Return the environment without what an allocation sets for its own steps: srun would take it for options."""
    kept = ("SLURM_CONF", "SLURM_CLUSTER_NAME", "SLURM_CLUSTERS")
    return {
        name: value for name, value in os.environ.items() if name in kept or not name.startswith(("SLURM_", "SRUN_"))
    }


def _ask(reach: Reach, parcel: bytes, deadline: float) -> None:
    """Run a command until all its nodes have answered, it has ended, or the time is over."""
    if not reach.command:
        return
    try:
        child = subprocess.Popen(  # noqa: S603 - our own words; the names were checked
            reach.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
        )
    except OSError as problem:
        reach.error = f"{reach.command[0]}: {problem.strerror}"
        return
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None  # noqa: S101, PT018 - pipes
    errors: list[bytes] = []
    said: list[bytes] = []
    readers = [
        threading.Thread(target=_drain, args=(child.stdout, said), daemon=True),
        threading.Thread(target=_drain, args=(child.stderr, errors), daemon=True),
    ]
    for reader in readers:
        reader.start()
    try:
        child.stdin.write(parcel)
        child.stdin.close()
    except OSError:
        pass
    try:
        child.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        reach.error = "timeout"
        child.terminate()
        try:
            child.wait(2.0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    for reader in readers:
        reader.join(1.0)
    reach.said = _answers(b"".join(said).decode("utf-8", "replace"), reach.nodes)
    reach.error = reach.error or _last(b"".join(errors))


def _drain(pipe: Any, kept: list[bytes]) -> None:
    size = 0
    while part := pipe.read1(1 << 16):
        size += len(part)
        if size < _MOST_BYTES:
            kept.append(part)


def _last(error: bytes) -> str:
    """Return the last line of an error, without what it may hold of secrets."""
    lines = [line.strip() for line in error.decode("utf-8", "replace").splitlines() if line.strip()]
    return mask_text(lines[-1][:200]) if lines else ""


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
                document = json.loads(zlib.decompressobj().decompress(packed, _MOST_BYTES))
            except (ValueError, zlib.error, RecursionError):
                continue
            if isinstance(document, dict) and isinstance(document.get("facts"), dict):
                answers[host] = document
    return answers


def _merge(reaches: Sequence[Reach], report: Report) -> None:
    documents: list[tuple[str, dict[str, Any]]] = []
    lost: list[tuple[str, str]] = []
    for reach in reaches:
        documents += reach.said.items()
        short = {name.partition(".")[0] for name in reach.said}
        lost += [(node, reach.error) for node in reach.nodes if node.partition(".")[0] not in short]
    facts = [document["facts"] for _, document in documents]
    dumps = [dump for one in facts for dump in one.get("dumps") or ()]
    _one_job(dumps, report)
    for name in ("dumps", "taken", "unread", "recorders", "failed"):
        report.fact(name, [item for one in facts for item in one.get(name) or ()])
    for name in ("capture_s", "seconds"):
        report.fact(name, max((one.get(name) or 0.0 for one in facts), default=0.0))
    report.fact("nodes", [node for node, _ in documents])
    report.fact("lost_nodes", [{"node": node, "error": error} for node, error in lost])
    for node, error in lost:
        report.found("stacks.node-unread", values={"host": node, "error": error or "-"})
    clear: set[str] | None = None
    for node, document in documents:
        for item in document.get("found") or ():
            values = dict(item.get("values") or {})
            if len(documents) > 1 and "pids" in values and item["id"] != "stacks.rank-stopped":
                values["pids"] = f"{values['pids']} ({node})"
            report.found(item["id"], values=values, quotes=item.get("quotes") or ())
        clear = set(document.get("clear") or ()) & (clear if clear is not None else set(document.get("clear") or ()))
    report.clear(*sorted(clear or ()) if not lost else ())
    if not dumps:
        empty = next((document for _, document in documents if document.get("reason")), None)
        if empty is not None:
            report.skip(str(empty["reason"]), str(empty.get("detail") or ""))
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
