"""Tests that share what takes long to make go to one worker, as `tests/conftest.py` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def rules(pytestconfig: pytest.Config) -> Any:
    """The module `tests/conftest.py`."""
    return pytestconfig.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def test_every_file_that_is_kept_together_is_there(rules: Any) -> None:
    """A file that was moved or renamed would be spread again, and what its tests share made by every worker."""
    assert [file for file in rules.TOGETHER if not (TESTS / file).is_file()] == []


def test_what_shares_something_is_one_unit_and_any_other_test_its_own(rules: Any) -> None:
    """Tests of two files may share one thing; the parameters of a test outside of the table are apart."""
    unit = rules.Together._split_scope
    tasks, markup = "tests/docsite/test_browser_tasks.py::test_a[en]", "tests/docsite/test_site_markup.py::test_b"
    assert unit(None, tasks) == unit(None, markup) == "served site"
    alone = [f"tests/repro/test_reproductions.py::test_c[{name}]" for name in ("D1", "D2")]
    assert [unit(None, name) for name in alone] == alone
