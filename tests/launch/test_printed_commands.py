"""The corrected commands are pasted into the files they were printed for, and those are run."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from test_launch_files import HERE, WRONG, catalogue, found_in

from distkb.evidence.observation import Observation
from distkb.evidence.readers.configs import read_configs

STAND_IN = HERE / "slurm_stand_in.py"
RECORDER = """#!/bin/bash
exec 9> "$(mktemp "$RECORD/XXXXXXXX")"
for name in SLURM_JOB_ID SLURM_PROCID SLURM_NODEID RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR; do
  printf '%s=%s\\0' "$name" "${!name}" >&9
done
printf '%s\\0' "${0##*/}" "$@" >&9
"""
"""Takes the place of a launcher and writes down what it was given."""
PASSED = '#!/bin/bash\nwhile [[ $1 != torchrun && $1 != accelerate ]]; do shift; done\nexec "$@"\n'
"""Takes the place of a container: starts what is inside."""
LARGE = {
    "first/wrong/step-smaller-than-job.sbatch",
    "first/wrong/tasks-times-torchrun.sbatch",
    "fresh/wrong/per-node-ignored.sbatch",
    "fresh/wrong/world-size-nodes.sbatch",
    "third/wrong/fewer-than-allocated.sbatch",
    "third/wrong/srun-python-localhost.sbatch",
    "third/wrong/tasks-for-gpus.slurm",
}
"""Files that ask for more than a small cluster has: Slurm is stood in for, even where there is one."""
GPUS = re.compile(r"(?:--gres|--gpus[a-z-]*|--account|--cpus-per-task|-p|--partition)[= ][\w:@-]+")
ARGUMENT = {"no-id.sh": "node1"}
"""What a file is given that is started by hand; others are given the number of the machine."""
NODES = 2
"""Machines on which a file without a scheduler is started by hand."""


def findings(path: Path) -> tuple[Observation, ...]:
    """What is found in a launch file."""
    return read_configs([path], catalogue().settings, {}).observations


def state(lines: list[str]) -> str:
    """What a shell says after these lines: that they are whole, that it waits for more, or that a quote is open."""
    if lines and lines[-1].endswith("\\"):
        return "open"
    said = subprocess.run(
        ["bash", "-n"], input="\n".join([*lines, ""]), capture_output=True, text=True, check=False
    ).stderr
    if "here-document" in said or "looking for matching" in said:
        return "open"
    return "whole" if not said else "waits"


def statement(lines: list[str], line: int) -> tuple[int, int]:
    """The first line and the line behind the last of the smallest command in which a line stands; counted from 0."""
    for begin in range(line - 1, -1, -1):
        if state(lines[:begin]) == "open":
            continue
        for end in range(line, len(lines) + 1):
            if state(lines[begin:end]) == "whole":
                return begin, end
    raise AssertionError(line)


def pasted(path: Path) -> int:
    """Paste what is printed for a launch file into it until nothing more is; returns how many commands that were."""
    for count in range(6):
        found = findings(path)
        if not found:
            return count
        first = found[0]
        assert first.commands, first.id
        lines = path.read_text().split("\n")
        begin, end = statement(lines, first.quotes[-1].line or 0)
        is_assignment = first.commands[0].startswith("export ")
        lines[begin : begin if is_assignment else end] = list(first.commands)
        path.write_text("\n".join(lines))
    raise AssertionError(path.read_text())


def has_slurm() -> bool:
    """Whether a Slurm answers here."""
    if shutil.which("sinfo") is None:
        return False
    return subprocess.run(["sinfo", "-h"], capture_output=True, timeout=30, check=False).returncode == 0


def program(path: Path, text: str) -> None:
    """Write a program."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def cluster(folder: Path, *, launchers: bool, slurm: bool) -> Path:
    """A folder for PATH: stand-ins for Slurm where there is none, for MPI and containers, and for the launchers."""
    folder.mkdir()
    names = {"mpirun"} if slurm else {"sbatch", "srun", "scontrol", "hostname", "mpirun"}
    for name in names:
        program(folder / name, f"#!{sys.executable} -SE\n{STAND_IN.read_text()}")
    for name in ("singularity", "apptainer"):
        program(folder / name, PASSED)
    for name in ("module", "conda"):
        program(folder / name, "#!/bin/sh\n")
    for name in ("torchrun", "accelerate", "python", "python3") if launchers else ():
        program(folder / name, RECORDER)
    return folder


def start(path: Path, programs: Path, **environ: str) -> None:
    """Start a launch file as its user would: with sbatch, else by hand on each machine."""
    text = path.read_text()
    text = re.sub(r"(?m)^(?:cd|\. |source) .*$", "", text.replace("source env.sh; ", ""))
    text = GPUS.sub("", text)
    path.write_text(text)
    # the login shell of a task makes a PATH of its own; this one keeps it
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "BASH_ENV": "", **environ}
    environment |= {"PBS_NODEFILE": str(path.parent / "nodes"), "FIRST_NODE": "node1", "SBATCH_WAIT": "1"}
    environment |= {"PBS_JOBID": "1.pbs", "HOME": str(path.parent)}
    (path.parent / "logs").mkdir(exist_ok=True)
    (path.parent / "nodes").write_text("node1\nnode2\n")
    (path.parent / ".bash_profile").write_text(f"PATH={programs}:$PATH\n")
    by_hand = "#SBATCH" not in text.partition("sbatch")[0] and "sbatch" not in text and "mpirun" not in text
    for node in range(NODES if by_hand else 1):
        own = {"SLURM_NODEID": str(node), "SLURM_PROCID": str(node)} if by_hand else {}
        command = ["bash", str(path), ARGUMENT.get(path.name, str(node))] if by_hand else ["bash", str(path)]
        if re.search(r"(?m)^#SBATCH", text) and "<<" not in text:
            command = ["sbatch", str(path)]
        subprocess.run(command, cwd=path.parent, env=environment | own, capture_output=True, timeout=120, check=False)


def recorded(folder: Path) -> list[tuple[dict[str, str], list[str]]]:
    """What each launcher of the training was given: variables, and words."""
    found = []
    for file in sorted(folder.iterdir()):
        parts = file.read_text().split("\0")[:-1]
        if "prepare.py" not in parts:
            found.append((dict(part.split("=", 1) for part in parts[:7]), parts[7:]))
    return found


def given(words: list[str]) -> dict[str, str]:
    """Options of a launcher, with one spelling."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            after = words[index + 1] if index + 1 < len(words) else ""
            found[name.replace("-", "_")] = value if equals else after
    return found


def first_node() -> set[str]:
    """The name of the first node, and its address where it has one."""
    try:
        return {"node1", socket.gethostbyname("node1")}
    except OSError:
        return {"node1"}


def check_agents(jobs: list[tuple[dict[str, str], dict[str, str]]]) -> None:
    """One launcher on each node, told so many nodes, and all of them the same place to meet: the first node."""
    nodes = {variables["SLURM_NODEID"] for variables, _ in jobs}
    assert len(nodes) == len(jobs) > 1
    sizes = {options.get("nnodes") or options["num_machines"] for _, options in jobs}
    assert {size.rpartition(":")[2] for size in sizes} == {str(len(jobs))}
    places = {
        options.get("rdzv_endpoint") or options.get("master_addr") or options["main_process_ip"] for _, options in jobs
    }
    assert len(places) == 1
    assert places.pop().partition(":")[0] in first_node()
    assert not any("standalone" in options for _, options in jobs)
    if any("rdzv_backend" in options and "nnodes" in options for _, options in jobs):
        assert len({options["rdzv_id"] for _, options in jobs}) == 1
        assert "" not in {options["rdzv_id"] for _, options in jobs}
    else:
        ranks = {options.get("node_rank") or options.get("machine_rank") for _, options in jobs}
        assert ranks in ({str(n) for n in range(len(jobs))}, {None})


@pytest.mark.parametrize("name", sorted(WRONG))
def test_what_is_printed_repairs_the_file(name: str, tmp_path: Path) -> None:
    """Pasted in place of the command that is quoted, it leaves nothing wrong, and the launchers agree when it runs."""
    path = tmp_path / Path(name).name
    path.write_text((HERE / name).read_text())
    assert pasted(path) >= 1
    assert subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False).stderr == b""
    record = tmp_path / "record"
    record.mkdir()
    slurm = has_slurm() and name not in LARGE
    start(path, cluster(tmp_path / "bin", launchers=True, slurm=slurm), RECORD=str(record))
    found = recorded(record)
    assert found, path.read_text()
    by_job = {variables["SLURM_JOB_ID"] for variables, _ in found}
    for job in by_job:
        own = [(variables, words) for variables, words in found if variables["SLURM_JOB_ID"] == job]
        if own[0][1][0].startswith("python") and "torch.distributed.run" not in own[0][1]:
            assert sorted(int(v["RANK"] or v["SLURM_PROCID"]) for v, _ in own) == list(range(len(own)))
            assert {v["WORLD_SIZE"] for v, _ in own} == {str(len(own))}
        else:
            check_agents([(variables, given(words)) for variables, words in own])


def test_the_files_are_wrong_as_they_stand(tmp_path: Path) -> None:
    """The checks above fail on files that were not corrected: they can tell a wrong launch."""
    held: Counter[str] = Counter()
    for name in ("first/wrong/localhost-endpoint.sbatch", "fresh/wrong/rank-inline.sbatch"):
        folder = tmp_path / Path(name).stem
        (folder / "record").mkdir(parents=True)
        path = folder / Path(name).name
        path.write_text((HERE / name).read_text())
        start(path, cluster(folder / "bin", launchers=True, slurm=has_slurm()), RECORD=str(folder / "record"))
        for variables, words in recorded(folder / "record"):
            held[given(words).get("rdzv_endpoint") or f"RANK={variables['RANK']}"] += 1
    assert held == {"localhost:29500": 4, "RANK=0": 8}
    assert found_in("first/wrong/localhost-endpoint.sbatch")


SCRIPT = """import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
with open(os.environ["RECORD"] + f"/{dist.get_rank()}", "w") as out:
    out.write(f"{int(total)}")
dist.destroy_process_group()
"""
STANDALONE = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun torchrun --standalone --nnodes=2 --nproc-per-node=1 train.py
"""
ONE_RANK = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500 WORLD_SIZE=2
RANK=0 srun python train.py
"""


@pytest.mark.torchrun
@pytest.mark.parametrize("text", [STANDALONE, ONE_RANK], ids=["standalone", "rank-0"])
def test_a_corrected_job_trains(text: str, tmp_path: Path) -> None:
    """With the real torchrun and a script that communicates, all ranks meet."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = str(free.getsockname()[1])
    path = tmp_path / "train.sbatch"
    path.write_text(text)
    assert pasted(path) == 1
    path.write_text(path.read_text().replace("29500", port))
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "record").mkdir()
    programs = cluster(tmp_path / "bin", launchers=False, slurm=has_slurm())
    for name in ("torchrun", "python"):
        program(programs / name, f'#!/bin/sh\nexec {Path(sys.executable).parent / name} "$@"\n')
    start(path, programs, RECORD=str(tmp_path / "record"), STAND_IN_HOSTS="localhost localhost")
    assert {file.name: file.read_text() for file in (tmp_path / "record").iterdir()} == {"0": "2", "1": "2"}
