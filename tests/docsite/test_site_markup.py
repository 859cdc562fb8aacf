"""The markup of every page, judged by html-validate."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from site_tools import FOLDER, node, tool

if TYPE_CHECKING:
    from pathlib import Path

    from browser import Site

pytestmark = pytest.mark.slow

pytest_plugins = ("browser",)


def complaints(folder: Path, report: Path) -> list[str]:
    """Return what html-validate says of the pages below a folder; it writes its report to a file.

    A pipe would not do: the program ends before all of a long report is through.
    """
    done = subprocess.run(
        [
            node(),
            tool("html-validate/bin/html-validate.mjs"),
            "--config",
            FOLDER / "htmlvalidate.json",
            "--formatter",
            f"json={report}",
            folder,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return [
        f"{page['filePath']}:{found['line']} {found['ruleId']}: {found['message']}"
        for page in json.loads(report.read_text())
        for found in page["messages"]
    ]


@pytest.mark.timeout(300)
def test_every_page_is_valid(served: Site, tmp_path: Path) -> None:
    """No page has a single error or warning."""
    assert complaints(served.root, tmp_path / "report.json") == []


def test_the_judge_sees_a_fault(tmp_path: Path) -> None:
    """A page with a nested link and a repeated id is found: the check above does judge."""
    page = (
        '<!doctype html>\n<html lang="en"><head><title>x</title></head><body><p id="a"></p><p id="a"></p></body></html>'
    )
    (tmp_path / "page.html").write_text(page)
    assert any("no-dup-id" in one for one in complaints(tmp_path, tmp_path / "report.json"))
