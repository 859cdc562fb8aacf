"""One command takes the stacks on all nodes of a job and gives one answer; stand-ins play Slurm, Kubernetes and ssh."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distkb_probes._report import Report
from distkb_probes.stack.nodes import _answer, _merge
from distkb_probes.stack.reach import Reach

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

DISTKB = str(Path(sys.executable).parent / "distkb")
JOB = str(os.getpid())
STAND_IN = """#!{python}
# Plays squeue, scontrol, srun, kubectl and ssh: runs here what it is told to run on a node. The "nodes" of the job are
# told apart by the step in the environment of their ranks.
import json, os, subprocess, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(os.path.join(os.path.dirname(sys.argv[0]), "asked"), "a") as asked:
    print(json.dumps([name, *words]), file=asked)
nodes = json.loads(os.environ["NODES"])
if name == "squeue":
    print("{job}|RUNNING|node[1-2]")
elif name == "scontrol":
    print("node1", "node2", sep="\\n")
elif words[:2] == ["get", "pods"]:
    mine = "jobset.sigs.k8s.io/jobset-name=run" in words
    pods = [("run-0", "Running"), ("run-1", "Running"), ("run-2", "Pending")] if mine else []
    print(json.dumps({{"items": [{{"metadata": {{"name": n}}, "status": {{"phase": p}}}} for n, p in pods]}}))
else:
    command = ["sh", "-c", words[-1]] if name == "ssh" else words[words.index("sh"):]
    parcel = json.load(sys.stdin)
    for node, step in nodes.items():
        if node in words or f"--nodelist={{node}}" in words:
            if step is None:
                sys.exit("error: no route to " + node)
            parcel["request"]["slurm"] = "{job}." + step
            print("a banner of", node, flush=True)
            subprocess.run(command, input=json.dumps(parcel).encode(), check=True)
"""
RANK = """
import os, time
from distkb_probes import live
live.serve()
def work():
    print(1, flush=True)
    time.sleep(300)
work()
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with the stand-ins, and a Python that sees nothing of distkb."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("squeue", "scontrol", "srun", "kubectl", "ssh"):
        (folder / name).write_text(STAND_IN.format(python=sys.executable, job=JOB))
        (folder / name).chmod(0o755)
    (folder / "bare-python").write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    (folder / "bare-python").chmod(0o755)
    return folder


@contextlib.contextmanager
def ranks(count: int, script: Path, *arguments: str, port: int = 1, ready: Path | None = None) -> Iterator[None]:
    """Run ranks, the first half of them on the first node; until each has printed a line, or left a file."""
    with contextlib.ExitStack() as stack:
        started = []
        for rank in range(count):
            more = {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            more |= {"SLURM_JOB_ID": JOB, "SLURM_STEP_ID": str(2 * rank // count), "LOCAL_RANK": str(rank)}
            more |= {"DISTKB_SERVE": "1", "OMP_NUM_THREADS": "1"}
            command = [sys.executable, str(script), *arguments]
            process = subprocess.Popen(command, env={**os.environ, **more}, stdout=subprocess.PIPE)
            stack.enter_context(process)
            stack.callback(process.kill)
            started.append(process)
        until = time.monotonic() + 120
        for process in started if ready is None else []:
            assert process.stdout is not None
            assert process.stdout.readline()
        while ready is not None and len(list(ready.iterdir())) < count:
            assert all(process.poll() is None for process in started)
            assert time.monotonic() < until
            time.sleep(0.02)
        yield
        assert all(process.poll() is None for process in started), "the probe ended the job"


def probe(tools: Path, nodes: dict[str, str | None], *arguments: str) -> tuple[int, dict[str, Any], list[list[str]]]:
    """Run the probe; returns its exit code, its answer, and what the stand-ins were asked."""
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "NODES": json.dumps(nodes)}
    command = [DISTKB, "probe", "stacks", "--json", "--python", str(tools / "bare-python"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.stdout, done.stderr
    asked = [json.loads(line) for line in (tools / "asked").read_text().splitlines()]
    return done.returncode, json.loads(done.stdout), asked


def found(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the findings by id."""
    return {finding["id"]: finding for finding in answer["findings"]}


@pytest.mark.torchrun
def test_a_hang_over_two_nodes_of_slurm(tools: Path, tmp_path: Path) -> None:
    """Rank and line are named from all nodes together, each rank read at its socket; a node that is lost is said."""
    ready, script = tmp_path / "ready", Path(__file__).parent / "stack_jobs" / "hang.py"
    ready.mkdir()
    with ranks(4, script, "save", str(ready), port=20000 + os.getpid() % 20000, ready=ready):
        code, answer, asked = probe(
            tools, {"node1": "0", "node2": "1"}, "--job", JOB, "--save", str(tmp_path / "saved")
        )
        assert code == 1, answer
        odd = found(answer)["stacks.one-rank-elsewhere"]
        assert (odd["values"]["odd"], odd["values"]["function"]) == ("1", "save_checkpoint")
        assert (odd["values"]["ranks"], odd["values"]["call"]) == ("0, 2, 3", "all_reduce")
        assert {row["way"] for row in answer["facts"]["taken"]} == {"socket"}
        assert answer["facts"]["nodes"] == ["node1", "node2"]
        assert "stacks.incomplete" not in found(answer)
        for words in (words for words in asked if words[0] == "srun"):
            assert {f"--jobid={JOB}", "--overlap", "--ntasks=1"} <= set(words)

        saved = sorted(path.name.partition("-")[0] for path in (tmp_path / "saved").iterdir())
        assert saved == [*(f"fr_trace_rank_{n}.json" for n in range(4)), *(f"rank{n}" for n in range(4))]

        code, answer, _ = probe(tools, {"node1": "0", "node2": None}, "--job", JOB)
        assert code == 1
        assert {"stacks.node-unread", "stacks.incomplete"} <= found(answer).keys()
        assert "no route to node2" in found(answer)["stacks.node-unread"]["text"]["en"]
        assert found(answer)["stacks.incomplete"]["severity"] == "warning"


@pytest.mark.slow
def test_pods_and_hosts_are_reached(tools: Path, tmp_path: Path) -> None:
    """Kubectl exec for every running pod of a JobSet, ssh for every host of a hostfile; what does not run is named."""
    script = tmp_path / "rank.py"
    script.write_text(RANK, encoding="utf-8")
    with ranks(2, script):
        code, answer, asked = probe(tools, {"run-0": "0", "run-1": "1"}, "--pods", "team/run")
        assert code == 1
        assert [row["rank"] for row in answer["facts"]["taken"]] == [0, 1]
        assert found(answer)["stacks.node-unread"]["values"] == {"host": "run-2", "error": "Pending"}
        inside = sorted(words[:7] for words in asked if words[1] == "exec")
        assert inside == [["kubectl", "exec", "-i", "--namespace", "team", pod, "--"] for pod in ("run-0", "run-1")]

        hostfile = tmp_path / "hosts"
        hostfile.write_text("# ours\nnode1 slots=8\nme@node2 slots=8\n\n")
        nodes: dict[str, str | None] = {"node1": "0", "me@node2": "1"}
        code, answer, asked = probe(tools, nodes, "--hostfile", str(hostfile))
        assert code == 0, answer
        assert [row["rank"] for row in answer["facts"]["taken"]] == [0, 1]
        assert all("BatchMode=yes" in words for words in asked if words[0] == "ssh")


@pytest.mark.slow
def test_of_several_jobs_on_the_hosts_a_pid_names_one(tools: Path, tmp_path: Path) -> None:
    """Without it they are listed, and no answer is made of ranks of two jobs."""
    script, hostfile = tmp_path / "rank.py", tmp_path / "hosts"
    script.write_text(RANK, encoding="utf-8")
    hostfile.write_text("node1\nnode2\n")
    nodes: dict[str, str | None] = {"node1": "0", "node2": "1"}
    with ranks(2, script), ranks(2, script, port=2):
        code, answer, _ = probe(tools, nodes, "--hostfile", str(hostfile))
        assert (code, answer["reason"]) == (3, "stacks-several-jobs")
        pid = answer["detail"].split()[0]
        code, answer, _ = probe(tools, nodes, "--hostfile", str(hostfile), "--pid", pid)
        assert code == 0, answer
        assert [row["rank"] for row in answer["facts"]["taken"]] == [0, 1]
        assert pid in {str(row["pid"]) for row in answer["facts"]["taken"]}


def test_where_no_node_answers_nothing_is_said_to_be_well(tools: Path) -> None:
    """The probe could not run; exit code 3, with the reason of the command."""
    code, answer, _ = probe(tools, {"node1": None, "node2": None}, "--job", JOB)
    assert (code, answer["status"], answer["reason"]) == (3, "skipped", "stacks-no-node")
    assert "no route to node1" in answer["detail"]


@pytest.mark.parametrize("name", ["--job=1;reboot", "--job=x", "--pods=-n", "--pods=a/b/c", "--hostfile={bad}"])
def test_what_names_no_job_is_wrong_usage(tmp_path: Path, name: str) -> None:
    """One line and exit code 2: no word of a command is made of it."""
    (tmp_path / "bad").write_text("-oProxyCommand=reboot\n")
    words = [DISTKB, "probe", "stacks", name.format(bad=tmp_path / "bad")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_damaged_answers_of_a_node_are_no_answer() -> None:
    """Lines that are missing, mixed with others or no answer at all leave the node without one."""
    assert _answer("distkb-node 1/2 AAAA\nhello\n") is None
    assert _answer("distkb-node 1/1 AAAA\n") is None
    assert _answer("distkb-node 1/1 ====\n") is None


def _said(document: object) -> str:
    return f"distkb-node 1/1 {base64.b64encode(zlib.compress(json.dumps(document).encode())).decode()}\n"


@pytest.mark.parametrize(
    "odd", [None, 3, "x", [1], ["x"], {"a": 1}, [{"id": 3}], [{"id": "x", "values": 3, "quotes": "x"}]]
)
def test_a_node_that_answers_nonsense_costs_its_own_part_only(odd: Any) -> None:
    """Whatever stands in a node's answer in place of what belongs there, the answers of the others count."""
    facts = dict.fromkeys(("dumps", "taken", "unread", "recorders", "failed", "capture_s", "seconds"), odd)
    bad = _answer(_said({"facts": facts, "found": odd, "clear": odd, "reason": odd}))
    good = _answer(
        _said({"facts": {"dumps": [{"pid": 1, "rank": 0}]}, "found": [{"id": "stacks.x", "values": {"a": 1}}]})
    )
    report = Report("stacks")
    _merge([Reach("n1", ["true"], bad), Reach("n2", ["true"], good)], report)
    document = report.document()
    assert {"pid": 1, "rank": 0} in document["facts"]["dumps"]
    assert {"id": "stacks.x", "values": {"a": "1"}, "quotes": []} in document["found"]
