"""Stands in for sbatch, srun, scontrol, hostname and mpirun where no Slurm runs, by the name it is called with.

Tasks run at the same time, each with the variables that Slurm 22.05 to 24.11 gives it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

LONG = {"N": "nodes", "n": "ntasks", "J": "job-name", "p": "partition", "w": "nodelist", "c": "cpus-per-task"}
FLAGS = {"kill-on-bad-exit", "exclusive", "label", "l", "unbuffered", "u", "overlap", "K", "O"}


def options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options up to the first word that is none, and the rest."""
    found: dict[str, str] = {}
    while words and words[0].startswith("-"):
        word, *words = words
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("--"):
            name, value = LONG.get(word[1], word[1]), word[2:].removeprefix("=")
            equals = value
        name = {"tasks-per-node": "ntasks-per-node"}.get(name, name)
        if not equals and name not in FLAGS:
            value, *words = words
        found[name] = value
    return found, words


def hosts() -> list[str]:
    """The machines of the cluster, the first of them a name of this one where that is wanted."""
    return os.environ.get("STAND_IN_HOSTS", " ".join(f"node{n}" for n in range(1, 9))).split()


def sbatch(words: list[str]) -> int:
    """Run a job at once: its text comes from --wrap, a file or stdin."""
    given, rest = options(words)
    if "wrap" in given:
        script = f"#!/bin/sh\n{given['wrap']}\n"
    else:
        script = Path(rest[0]).read_text() if rest else sys.stdin.read()
    size: dict[str, str] = {}
    for line in script.split("\n"):
        if line.startswith("#SBATCH"):
            size |= options(re.sub(r"\s#.*", "", line).split()[1:])[0]
        elif line.strip() and not line.startswith("#"):
            break
    size |= given
    nodes = int(size.get("nodes", "1"))
    job = str(os.getpid())
    environ = {
        **os.environ, "SLURM_JOB_ID": job, "SLURM_JOBID": job, "SLURM_NNODES": str(nodes),
        "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_JOB_NODELIST": f"part[1-{nodes}]",
        "SLURM_NODELIST": f"part[1-{nodes}]", "SLURM_PROCID": "0", "SLURM_NODEID": "0", "SLURM_LOCALID": "0",
        "SLURMD_NODENAME": hosts()[0],
    }  # fmt: skip
    if "ntasks-per-node" in size:
        environ["SLURM_NTASKS_PER_NODE"] = size["ntasks-per-node"]
    if "ntasks" in size or "ntasks-per-node" in size:
        environ["SLURM_NTASKS"] = size.get("ntasks") or str(nodes * int(size["ntasks-per-node"]))
    shell = ["/bin/sh" if "wrap" in given else "/bin/bash", "-s", *rest[1:]]
    return subprocess.run(shell, input=script.encode(), env=environ, check=False).returncode


def srun(words: list[str]) -> int:
    """Start the tasks of a step: as many as it says, else as the job says, else one for each node."""
    given, command = options(words)
    nodes = int(given.get("nodes") or os.environ.get("SLURM_NNODES", "1"))
    total = given.get("ntasks") or os.environ.get("SLURM_NTASKS")
    count = int(total) if total else nodes * int(given.get("ntasks-per-node", "1"))
    nodes = min(nodes, count)
    each = -(-count // nodes)
    tasks = []
    for task in range(count):
        environ = {
            **os.environ, "SLURM_PROCID": str(task), "SLURM_NODEID": str(task // each),
            "SLURM_LOCALID": str(task % each), "SLURM_NTASKS": str(count), "SLURM_STEP_NUM_TASKS": str(count),
            "SLURM_NNODES": str(nodes), "SLURM_STEP_NUM_NODES": str(nodes), "SLURMD_NODENAME": hosts()[task // each],
        }  # fmt: skip
        tasks.append(subprocess.Popen(command, env=environ))
    return max(task.wait() for task in tasks)


def mpirun(words: list[str]) -> int:
    """Start as many processes as it says, `ppr:N:node` of them on each node."""
    given: dict[str, str] = {}
    while words and words[0].startswith("-"):
        name, value, *words = words
        given[name] = value
    each = int(given.get("--map-by", "ppr:1:node").split(":")[1])
    tasks = [
        subprocess.Popen(words, env={**os.environ, "SLURM_PROCID": str(task), "SLURM_NODEID": str(task // each)})
        for task in range(int(given["-np"]))
    ]
    return max(task.wait() for task in tasks)


def scontrol(words: list[str]) -> int:
    """Name the nodes of a list."""
    count = re.search(r"\[1-(\d+)\]", words[2] if len(words) > 2 else os.environ.get("SLURM_JOB_NODELIST", ""))
    if words[:1] != ["show"] or count is None:
        return 1
    sys.stdout.write("".join(f"{name}\n" for name in hosts()[: int(count[1])]))
    return 0


def hostname(_: list[str]) -> int:
    """Name the node that this task runs on."""
    sys.stdout.write(os.environ.get("SLURMD_NODENAME", "login") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit({f.__name__: f for f in (sbatch, srun, mpirun, scontrol, hostname)}[Path(sys.argv[0]).name](sys.argv[1:]))
