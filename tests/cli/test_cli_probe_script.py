"""`distkb probe script`: what it prints, its document, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_calls import invoke

EXAMPLES = Path(__file__).parents[1] / "evidence" / "data" / "scripts"
FSDP = """import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision

model = FSDP(torch.nn.Linear(2, 2), mixed_precision=MixedPrecision(param_dtype=torch.bfloat16))
"""


def test_a_finding_names_file_line_and_edit() -> None:
    """The screen says where it stands, why, which entry it belongs to, and what to change; the exit code is 1."""
    result = invoke("probe", "script", str(EXAMPLES / "collective" / "bad_direct.py"))
    assert result.exit_code == 1
    assert "bad_direct.py:7" in result.stdout
    assert "[D21.a]" in result.stdout
    assert "Fix: Move `dist.all_reduce(…)` of line 7" in result.stdout


@pytest.mark.slow
def test_every_placeholder_is_filled_in_both_languages() -> None:
    """No finding of any example leaves a placeholder or a particle in its sentences and its fix."""
    document = json.loads(invoke("probe", "script", str(EXAMPLES), "--json").stdout)
    assert document["schema"] == "distkb.probe/1"
    ours = [f for f in document["findings"] if f["id"].startswith("script.")]
    assert len({f["id"] for f in ours}) > 20
    for finding in ours:
        texts = [*finding["text"].values(), *(finding["fix"] or {}).values()]
        left = [f"{{{name}}}" for name in finding["values"]]
        assert not [text for text in texts if "/를}" in text or "/는}" in text or "/로}" in text]
        assert not [text for text in texts for name in left if name in text]
        assert finding["evidence"][0]["line"] > 0


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_good_script_is_a_quiet_screen(lang: str) -> None:
    """Nothing wrong is one line and exit code 0."""
    result = invoke("probe", "script", str(EXAMPLES / "collective" / "good_pairs.py"), "--lang", lang)
    assert (result.exit_code, len(result.stdout.strip().splitlines())) == (0, 1)


def test_calls_that_configure_are_checked_too(tmp_path: Path) -> None:
    """FSDP without a wrap policy and half-set dtypes come from the reader of configurations."""
    file = tmp_path / "train.py"
    file.write_text(FSDP)
    document = json.loads(invoke("probe", "script", str(file), "--json").stdout)
    assert {f["id"] for f in document["findings"]} == {
        "config.torch-fsdp-no-wrap-policy",
        "config.fsdp-reduce-dtype-unset",
    }


def test_what_cannot_be_read_is_one_line_and_exit_2(tmp_path: Path) -> None:
    """A folder without scripts, a missing file and Python 2 are wrong input, never a traceback."""
    old = tmp_path / "old.py"
    old.write_text("print 'x'\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (old, empty, tmp_path / "absent.py"):
        result = invoke("probe", "script", str(path))
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
