"""The commands that reach the nodes of a job: srun for Slurm, kubectl exec for Kubernetes, ssh for a list of hosts."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distkb_probes._report import Report
from distkb_probes.environment.variables import mask_text

MOST_BYTES = 64 << 20
"""Of what one command prints."""
_COURIER = Path(__file__).resolve().with_name("courier.py")
_ASK_S = 20.0
_NAME = re.compile(r"[A-Za-z0-9][\w.@:+-]{0,252}")
_FIND = (
    'p=$(command -v "$0" || command -v python3 || command -v python) || { echo "no python" >&2; exit 127; }; '
    'exec "$p" -c "$1"'
)
"""Takes the Python that was asked for where a node has it, else its own."""
_LABELS = (
    "training.kubeflow.org/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""What the pods of a PyTorchJob, a JobSet (also of a TrainJob) and a Job carry."""


@dataclass
class Reach:
    """One node, the command that reaches it, and what it said."""

    node: str
    command: list[str]
    said: dict[str, Any] | None = None
    error: str = ""


def plan(via: Mapping[str, Any], python: str, report: Report) -> tuple[list[Reach], str]:
    """Return the commands, and the Slurm job or step whose ranks count on a node; empty elsewhere.

    Ends the probe where there is no such job, and where a name is none: it becomes a word of a command.
    """
    for name in (*str(via.get("slurm", via.get("pods", "x"))).split("/"), *map(str, via.get("hosts", ()))):
        if _NAME.fullmatch(name) is None:
            report.fail("stacks-bad-name", name[:80])
    if "slurm" in via:
        job, nodes = _slurm(str(via["slurm"]), report)
        return [_srun(job, node, python) for node in nodes], job
    if "pods" in via:
        return _kubectl(str(via["pods"]), python, report), ""
    return [_ssh(str(host), python) for host in via["hosts"]], ""


def _there(python: str) -> list[str]:
    """Return the command that runs on a node."""
    return ["sh", "-c", _FIND, python, _COURIER.read_text(encoding="utf-8")]


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


def _srun(job: str, node: str, python: str) -> Reach:
    """Return the command for one node: a step over several nodes starts nowhere where one of them is dead."""
    one = ("--nodes=1", "--ntasks=1", f"--nodelist={node}")
    quiet = ("--mpi=none", "--cpu-bind=none", "--job-name=distkb")
    return Reach(node, ["srun", f"--jobid={job.partition('.')[0]}", "--overlap", *one, *quiet, *_there(python)])


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
                Reach(pod, ["kubectl", "exec", "-i", *within, pod, "--", *_there(python)])
                if phase == "Running"
                else Reach(pod, [], error=phase)
                for pod, phase in pods
            ]
    return report.fail("stacks-no-pods", name)


def _ssh(host: str, python: str) -> Reach:
    there = shlex.join(_there(python))
    return Reach(host, ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, "--", there])


def _said(command: list[str], code: str, report: Report) -> str:
    """Return what a command printed; the probe ends where it cannot be run."""
    try:
        done = subprocess.run(  # noqa: S603 - our own words; the name was checked
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False, env=environment()
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        report.fail(code, f"{command[0]}: {getattr(problem, 'strerror', None) or 'timeout'}")
    if done.returncode:
        report.fail(code, f"{command[0]}: {last_line(done.stderr)}")
    return done.stdout[:MOST_BYTES].decode("utf-8", "replace")


def environment() -> dict[str, str]:
    """Return the environment without what an allocation sets for its own steps: srun would take it for options."""
    kept = ("SLURM_CONF", "SLURM_CLUSTER_NAME", "SLURM_CLUSTERS")
    return {
        name: value for name, value in os.environ.items() if name in kept or not name.startswith(("SLURM_", "SRUN_"))
    }


def last_line(error: bytes) -> str:
    """Return the last line of an error, without what it may hold of secrets."""
    lines = [line.strip() for line in error.decode("utf-8", "replace").splitlines() if line.strip()]
    return mask_text(lines[-1][:200]) if lines else ""
