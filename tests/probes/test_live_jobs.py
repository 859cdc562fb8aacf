"""The live checks in real torchrun jobs on gloo: what is found, who is named, and that the job goes on."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torchrun
JOBS = Path(__file__).parent / "live_jobs"
PROBES = Path(__file__).parents[2] / "probes"
Said = list[dict[str, Any]]


class Job:
    """One finished job: what each rank noted, what was printed, and where rank 0 saved."""

    def __init__(self, name: str, nproc: int, folder: Path) -> None:
        self.saved = folder / "saved"
        env = {**os.environ, "LIVE_OUT": str(folder), "DISTKB_LIVE_DIR": str(self.saved), "OMP_NUM_THREADS": "1"}
        env["PYTHONPATH"] = os.pathsep.join([str(PROBES), str(JOBS), env.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={nproc}"]
        done = subprocess.run(
            [*command, str(JOBS / f"{name}.py")], env=env, capture_output=True, text=True, timeout=120, check=False
        )
        self.printed = done.stderr
        assert done.returncode == 0, done.stderr
        self.said: Said = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(nproc)]

    def found(self, name: str, rank: int = 0) -> dict[str, Any]:
        """What a check found, by id."""
        found: dict[str, Any] = self.said[rank][name]["found"]
        return found


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Job]:
    """Run each job once for all tests of this file."""
    sizes = {"healthy": 2, "unequal": 3, "missing": 3}
    done: dict[str, Job] = {}

    def run(name: str) -> Job:
        if name not in done:
            done[name] = Job(name, sizes[name], tmp_path_factory.mktemp(name))
        return done[name]

    return run


@pytest.mark.parametrize(
    "name",
    [
        "ddp-0",
        "ddp-1",
        "inner",
        "fsdp2-new",
        "fsdp2-backward",
        "fsdp2-gathered",
        "placements",
        "fsdp1-True",
        "fsdp1-False",
    ],
)
def test_nothing_is_found_in_a_healthy_job(job: Callable[[str], Job], name: str) -> None:
    """DDP, uneven fully_shard (also while gathered) and FSDP1 give no finding on any rank."""
    for said in job("healthy").said:
        assert said[name]["found"] == {}
        assert said[name]["reason"] is None


def test_a_healthy_check_is_one_quiet_line(job: Callable[[str], Job]) -> None:
    """Rank 0 prints one line for each `check`, the other checks and ranks print nothing."""
    lines = [line for line in job("healthy").printed.splitlines() if "distkb live" in line]
    fine = [line for line in lines if "ok, 2 ranks agree" in line]
    assert len(fine) == 7
    assert [
        line for line in lines if "ok, " not in line and "buffers-differ" not in line and "read with" not in line
    ] == []


def test_a_check_changes_nothing(job: Callable[[str], Job]) -> None:
    """Parameters, buffers, gradients, versions, random numbers and the count of collectives stay as they were."""
    for said in job("healthy").said:
        assert said["unchanged-0"] is True
        assert said["unchanged-1"] is True


def test_coverage_counts_parameters_by_wrapper(job: Callable[[str], Job]) -> None:
    """The facts say who looks after how many parameters, also for DDP's inner module."""
    said = job("healthy").said[0]
    assert said["ddp-0"]["facts"]["coverage"]["parameters"] == {"ddp": 6}
    assert said["inner"]["facts"]["coverage"]["parameters"] == {"ddp": 6}
    assert said["fsdp2-gathered"]["facts"]["coverage"]["parameters"] == {"fsdp2": 6}
    assert set(said["fsdp1-True"]["facts"]["coverage"]["parameters"]) == {"fsdp1"}
    assert list(said["placements"]["facts"]["placements"]["layouts"]) == ["Shard(0) on cpu dp=2"]


def test_batchnorm_statistics_are_a_note_of_their_own(job: Callable[[str], Job]) -> None:
    """Buffers that DDP lets differ are found when asked for, not by `check`."""
    assert job("healthy").found("buffers")["live.buffers-differ"]["name"] == "1.running_mean"


def test_without_a_process_group_one_process_is_checked(job: Callable[[str], Job]) -> None:
    """Before init_process_group a check says so and finds nothing."""
    said = job("healthy").said[1]["before-init"]
    assert said["reason"] == "not-initialised"
    assert said["found"] == {}


def test_a_rank_outside_the_group_returns_at_once(job: Callable[[str], Job]) -> None:
    """Ranks that are not in `group` neither wait nor find."""
    assert [said["subgroup"]["reason"] for said in job("healthy").said] == [None, "not-in-group"]


def test_rank_zero_saves_raw_documents(job: Callable[[str], Job]) -> None:
    """The saved files and `document` are raw documents of the probe contract; clean results do not pile up."""
    files = sorted(job("healthy").saved.glob("*"))
    assert all(file.name.startswith("live-") and file.suffix == ".json" for file in files)
    assert len(files) <= 7
    for document in [*(json.loads(file.read_text()) for file in files), job("healthy").said[0]["document"]]:
        assert document["schema"] == "distkb.probe-raw/1"
        assert document["probe"] == "live"
        assert document["status"] == "ok"
    assert any(item["id"] == "live.buffers-differ" for item in job("healthy").said[0]["document"]["found"])


@pytest.mark.parametrize(
    ("name", "identity", "expected"),
    [
        ("weights", "live.parameters-differ", {"ranks": "2", "name": "1.weight", "total": "1", "others": "2"}),
        ("nan", "live.nonfinite-parameter", {"ranks": "1", "name": "0.bias", "total": "1", "others": "2"}),
        ("shapes", "live.tensor-shape", {"ranks": "0", "name": "head", "value": "[4]", "expected": "[3]"}),
        ("shapes", "live.tensor-dtype", {"ranks": "1", "name": "scale", "value": "float16", "expected": "float32"}),
        ("shapes", "live.tensor-missing", {"ranks": "1", "name": "extra", "value": "present"}),
        ("data", "live.same-batch", {"ranks": "1-2", "total": "2", "world": "3"}),
        ("structure", "live.batch-structure", {"ranks": "2", "value": "0 float16 2-d"}),
        ("step", "live.step-differs", {"ranks": "1", "value": "6", "expected": "7"}),
        ("optimizer", "live.learning-rate-differs", {"ranks": "0", "value": "0.2", "expected": "0.1"}),
        ("optimizer", "live.optimizer-stale", {"ranks": "0-2", "held": "2", "trainable": "4"}),
        ("frozen", "live.tensor-requires-grad", {"ranks": "0", "name": "0.weight", "value": "False"}),
        ("unsynced", "live.gradients-differ", {"name": "first.weight", "total": "2"}),
        ("branch", "live.gradient-missing-on-ranks", {"ranks": "1", "name": "second.weight", "total": "2"}),
        ("unsynced", "live.gradient-unused", {"name": "third.weight", "total": "2"}),
        ("added", "live.outside-ddp", {"name": "1.weight", "total": "2", "parameters": "4"}),
        ("unwrapped", "live.not-wrapped", {"name": "weight", "total": "2"}),
        ("order", "live.group-settings", {"ranks": "1", "setting": "timeout", "value": "90 s", "expected": "60 s"}),
        ("ahead", "live.collectives-differ", {"ranks": "0", "others": "2", "members": "0-2"}),
        ("mesh", "live.mesh-differs", {"ranks": "0-2"}),
        ("small-mesh", "live.mesh-incomplete", {"ranks": "2", "size": "2", "world": "3"}),
    ],
)
def test_a_fault_is_named_with_its_ranks(
    job: Callable[[str], Job], name: str, identity: str, expected: dict[str, str]
) -> None:
    """Every rank learns the same: which finding, which tensor, which ranks."""
    for rank in range(3):
        values = job("unequal").found(name, rank)[identity]
        assert expected.items() <= values.items()


@pytest.mark.parametrize("name", ["start", "loose", "agreed"])
def test_what_is_in_order_between_the_faults_gives_no_finding(job: Callable[[str], Job], name: str) -> None:
    """Equal weights, unused parameters that DDP was told about, and agreeing groups are not reported."""
    assert job("unequal").found(name) == {}


def test_the_printed_line_names_finding_and_file(job: Callable[[str], Job]) -> None:
    """Rank 0 prints id and values once, and how to read them."""
    printed = job("unequal").printed
    assert printed.count("distkb live: live.step-differs ranks=1") == 1
    assert f"read with: distkb diagnose {job('unequal').saved}" in printed


def test_a_rank_that_does_not_come_is_named_in_time(job: Callable[[str], Job]) -> None:
    """The others learn within the time who is missing, and where it called a check last."""
    for rank in (0, 1):
        said = job("missing").said[rank]["two-gone"]
        assert said["found"]["live.rank-missing"]["ranks"] == "2"
        assert said["reason"] == "ranks-missing"
        assert said["elapsed"] < 600
        assert any("rank 2: last called live.memory at missing.py:" in line for line in said["evidence"])


def test_a_missing_first_rank_is_named_too(job: Callable[[str], Job]) -> None:
    """Another rank leads where rank 0 does not come."""
    assert job("missing").found("zero-gone", 1)["live.rank-missing"]["ranks"] == "0"
    assert "live.rank-missing ranks=0" in job("missing").printed


def test_a_late_rank_is_told_so_and_does_not_wait(job: Callable[[str], Job]) -> None:
    """Who comes after the verdict returns at once; the next check has all ranks again."""
    late = job("missing").said[2]["two-late"]
    assert late["reason"] == "came-late"
    assert late["elapsed"] < 600
    assert all(said["all-again"]["found"] == {} for said in job("missing").said)


def test_ranks_find_together_again_after_a_lone_call(job: Callable[[str], Job]) -> None:
    """A check called by one rank alone does not part the ranks for good, and the job's collectives still work."""
    for said in job("missing").said:
        assert said["resync-2"]["found"] == {}
        assert said["all_reduce"] == 3.0


def test_a_check_leaves_nothing_in_the_store(job: Callable[[str], Job]) -> None:
    """Rounds that all ranks left are cleared away."""
    for said in job("missing").said:
        assert said["keys_later"] <= said["keys"] + 1


def test_a_store_that_stands_still_or_is_gone_is_a_finding_in_time(tmp_path: Path) -> None:
    """Rank 0 holds the store; when it is stopped and then killed, rank 1's checks come back and say so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "LIVE_OUT": str(tmp_path), "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2"}
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    env["PYTHONPATH"] = os.pathsep.join([str(PROBES), str(JOBS)])
    command = [sys.executable, str(JOBS / "store_gone.py")]
    first = subprocess.Popen(command, env={**env, "RANK": "0"}, stderr=subprocess.DEVNULL)
    try:
        subprocess.run(command, env={**env, "RANK": "1"}, timeout=120, check=True, capture_output=True)
    finally:
        first.kill()
        first.wait()
    said = json.loads((tmp_path / "rank-1.json").read_text())
    assert said["both"]["found"] == {}
    for name in ("stopped", "still", "killed"):
        assert list(said[name]["found"]) == ["live.store-lost"]
        assert said[name]["reason"] == "store-lost"
        assert said[name]["elapsed"] < 60
