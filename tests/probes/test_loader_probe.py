"""The loader probe on real data loaders: what it finds, and that it leaves sound ones in peace."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import built_in
import pytest

from distkb.catalogue.model import Finding
from distkb.locale import LANGUAGES, Say, fill
from distkb.report import loaders
from distkb.report.layout import width
from distkb_probes import loader
from distkb_probes._report import Report, Stopped
from distkb_probes.loading.judge import IDS

pytest.importorskip("torch")
HERE = Path(__file__).parent


def probed(function: str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> dict[str, Any]:
    """The document of the probe for one function of `loader_sources`, for three ranks."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    report = Report("loader")
    request = {"loader": f"loader_sources:{function}", "world_size": 3, "directory": str(HERE), "seconds": 30, **more}
    with contextlib.suppress(Stopped):
        loader.run(request, report)
    return report.document()


def found(document: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Findings with their values; their sentences can be filled."""
    assert document["status"] == "ok", document["detail"]
    known: dict[str, Finding] = {finding.id: finding for finding in built_in.catalogue().findings}
    for item in document["found"]:
        finding = known[item["id"]]
        for text in (finding.says, finding.fix):
            for template in () if text is None else (text.en, text.ko):
                assert fill(template, item["values"])
    return {item["id"]: item["values"] for item in document["found"]}


@pytest.mark.parametrize("function", ["good", "after_a_barrier", "first_of_two", "sliced", "stream_good"])
def test_sound_loaders_are_left_in_peace(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found, and each rank's part is counted."""
    document = probed(function, monkeypatch)
    assert found(document) == {}
    assert [row["rank"] for row in document["facts"]["ranks"]] == [0, 1, 2]
    assert [row["distinct"] for row in document["facts"]["ranks"]] == [32, 32, 32]
    assert set(document["clear"]) == set(IDS)


@pytest.mark.parametrize(
    ("function", "identity", "value"),
    [
        ("padded", "loader.samples-padded", ("shared", "2")),
        ("no_sampler", "loader.same-samples", ("sampler", "RandomSampler")),
        ("longer_by_rank", "loader.lengths-differ", ("lengths", "10 (rank 0), 11 (rank 1), 12 (rank 2)")),
        ("longer_by_rank", "loader.dataset-differs", ("lengths", "40 (rank 0), 44 (rank 1), 48 (rank 2)")),
        ("seeds", "loader.seeds-differ", ("seeds", "0 (rank 0), 1 (rank 1), 2 (rank 2)")),
        ("seeds", "loader.samples-overlap", ("n", "3")),
        ("wrong_world", "loader.sampler-wrong-rank", ("replicas", "8")),
        ("wrong_world", "loader.samples-missing", ("missing", "250")),
        ("divided_twice", "loader.divided-twice", ("sampler", "DistributedSampler")),
        ("stubborn", "loader.set-epoch-ignored", ("sampler", "Stubborn")),
        ("stream_same", "loader.stream-not-sharded", ("sampler", "Stream")),
        ("stream_uneven", "loader.batches-uneven", ("batches", "9 (rank 0, 1), 8 (rank 2)")),
        ("stream_workers", "loader.workers-repeat", ("workers", "2")),
        ("small_batches_on_one", "loader.batch-sizes-differ", ("sizes", "4 (rank 1, 2), 2 (rank 0)")),
        ("small_batches_on_one", "loader.lengths-differ", ("lengths", "8 (rank 1, 2), 16 (rank 0)")),
    ],
)
def test_faulty_loaders_are_told_apart(
    function: str, identity: str, value: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fault has its finding, with the figures that show it."""
    values = found(probed(function, monkeypatch))
    assert values[identity][value[0]] == value[1]


def test_a_rank_that_cannot_build_its_loader_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are still compared; the line of the user's code is quoted."""
    document = probed("fails_on_one", monkeypatch)
    assert found(document) == {"loader.build-failed": {"ranks": "1", "error": "ValueError: no shard 1"}}
    (quote,) = document["found"][0]["quotes"]
    assert (Path(quote["path"]).name, quote["rank"]) == ("loader_sources.py", 1)
    assert "raise ValueError" in quote["text"]


@pytest.mark.parametrize(
    ("function", "reason", "detail"),
    [
        ("fails", "loader-callable-failed", "no data"),
        ("number", "loader-not-a-loader", "returned int"),
        ("gone", "loader-callable-missing", "gone"),
    ],
)
def test_what_cannot_be_built_at_all_ends_the_probe(
    function: str, reason: str, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reason with a sentence in both languages, and what happened."""
    document = probed(function, monkeypatch)
    assert (document["status"], document["reason"]) == ("error", reason)
    assert detail in document["detail"]
    assert all(Say(lang).knows(f"probe.reason.{reason}") for lang in LANGUAGES)


def test_set_epoch_is_asked_for_where_the_file_does_not_call_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same order in every epoch is a note, unless the callable's file calls set_epoch."""
    source = "import loader_sources\n\ndef build():\n    return loader_sources.sampled()\n"
    (tmp_path / "plain.py").write_text(source)
    (tmp_path / "calls.py").write_text(source + "\n# loader.sampler.set_epoch(epoch)\n")
    more = {"directory": str(tmp_path)}
    assert set(found(probed("x", monkeypatch, loader="plain.py:build", **more))) == {"loader.needs-set-epoch"}
    assert found(probed("x", monkeypatch, loader="calls.py:build", **more)) == {}


def test_time_and_batches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callable that never returns ends with the time given; of a stream only some batches are read."""
    document = probed("endless", monkeypatch, seconds=0.5)
    assert document["reason"] == "loader-no-time"
    document = probed("stream_good", monkeypatch, max_batches=2, epochs=1)
    assert [row["epochs"][0]["batches"] for row in document["facts"]["ranks"]] == [2, 2, 2]
    assert not document["facts"]["ranks"][0]["epochs"][0]["complete"]
    assert found(document) == {}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_table_fits(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that are alike share a row, within 80 columns."""
    document = probed("small_batches_on_one", monkeypatch)
    rows = loaders.write(document["facts"], Say(lang), columns=80).splitlines()  # type: ignore[arg-type]
    assert all(width(row) <= 80 for row in rows)
    assert [row.strip().split("  ")[0] for row in rows[2:]] == ["0", "1, 2"]


@pytest.mark.slow
def test_the_command_runs_the_probe_below_its_guard() -> None:
    """The whole way, with the exit code of a finding."""
    command = [sys.executable, "-m", "distkb", "probe", "loader", "--loader", "loader_sources:no_sampler", "--json"]
    command += ["--world-size", "2", "--python", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["findings"][0]["id"] == "loader.same-samples"
    assert document["facts"]["ranks_checked"] == 2
