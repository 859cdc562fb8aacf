"""What a finding in the user's own files says to change stands first on every face."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from distkb.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    print('saved')\n    dist.barrier()\n"
EDIT = {"en": "Move `dist.barrier(…)` of line 5 out of the branch of line 3", "ko": "5행의 `dist.barrier(…)` 호출을"}
SAID = {"en": "Fix:", "ko": "해결:"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script in which only rank 0 comes to a barrier."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def said(*arguments: str) -> str:
    """What a command prints, on lines of any length."""
    return " ".join(CliRunner().invoke(cli, [*arguments]).stdout.split())


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_edit_stands_before_the_general_fix(script: Path, lang: str) -> None:
    """The answer's first fix is the finding's own, with its line; the entry's fix is called the general one."""
    page = said("--lang", lang, "diagnose", str(script))
    first = page.partition(SAID[lang])[2].strip()
    assert first.startswith(EDIT[lang])
    assert "(train.py:5)" in first[:260]


def test_programs_and_agents_read_the_edit(script: Path) -> None:
    """The JSON document holds it in both languages with its place, the digest and the Markdown say it."""
    remedy = json.loads(CliRunner().invoke(cli, ["diagnose", "--json", str(script)]).stdout)["remedy"]
    assert remedy["observation"] == "script.collective-on-some-ranks"
    assert all(remedy["text"][lang].startswith(text) for lang, text in EDIT.items())
    assert (remedy["path"].rpartition("/")[2], remedy["line"]) == ("train.py", 5)
    assert f"What to change: {EDIT['en']}" in said("--lang", "en", "digest", str(script))
    assert f"**Fix:** {EDIT['en']}" in said("--lang", "en", "diagnose", "--markdown", str(script))


def test_without_such_a_finding_there_is_no_edit(tmp_path: Path) -> None:
    """A log alone names a cause and its fix, and nothing to change in a file that nobody has read."""
    log = tmp_path / "train.log"
    log.write_text("[rank0]: RuntimeError: Expected to have finished reduction in the prior iteration before\n")
    document = json.loads(CliRunner().invoke(cli, ["diagnose", "--json", str(log)]).stdout)
    assert document["causes"][0]["entry"] == "D8"
    assert document["remedy"] is None
