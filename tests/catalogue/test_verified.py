"""Version ranges beside what was found in packages."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from catalogue_samples import QUIET, sound

from distkb.catalogue.check import check_directories
from distkb.catalogue.load import load_sources
from distkb.catalogue.records import Version
from distkb.catalogue.verified import Looked, Packages, Spans, Verified, differences, expanded, mark, spans

LISTED = ("2.0.1", "2.1.2", "2.2.2", "2.3.1")
PACKAGES = {"torch": Packages(component="torch", versions=LISTED)}
FOUND = Looked(fixed="", found={"torch": {"text": Spans(whole=("2.1.2..2.2.2",))}})


@pytest.mark.parametrize("held", [(), ("2.0.1",), ("2.1.2", "2.2.2"), ("2.0.1", "2.2.2", "2.3.1"), LISTED])
def test_runs_of_versions_stand_for_the_versions(held: tuple[str, ...]) -> None:
    """Neighbours are written as one run, and read back."""
    runs = spans(held, LISTED)
    assert expanded(runs, LISTED) == set(held)
    assert len(runs) <= len(held)


@pytest.mark.parametrize(
    ("since", "until", "also", "missing"),
    [
        ("2.1", "2.2", (), ()),
        ("2.1", None, (), ("2.3.1",)),
        ("2.2", "2.2", ("2.1.2",), ()),
        ("1.0", "2.1", ("2.2.2",), ("2.0.1",)),
        (None, "2.2", (), ("2.0.1",)),
        (None, None, (), ("2.0.1", "2.3.1")),
    ],
)
def test_a_range_differs_where_a_package_says_otherwise(
    since: str | None, until: str | None, also: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    """Versions with the text lie in a range, those without it do not; an open beginning holds all versions."""
    found = differences(FOUND, [Version(component="torch", since=since, until=until)], PACKAGES)
    assert [(one.also, one.missing) for one in found] == ([(also, missing)] if also or missing else [])


def test_nothing_follows_from_a_text_that_no_package_holds() -> None:
    """It may be put together at run time; nor does a piece of it say that the rest is missing."""
    some = [Version(component="torch", since="2.0")]
    assert differences(Looked(fixed=""), some, PACKAGES) == []
    piece = Looked(fixed="", found={"torch": {"text": Spans(whole=("2.1.2..2.3.1",), part=("2.0.1",))}})
    assert differences(piece, some, PACKAGES) == []


def results(kb: Path, pattern: str, *held: str) -> None:
    """Write what was found of the sample's one signature."""
    packages = {"torch": Packages(component="torch", versions=("2.9.1", "2.10.0"))}
    found = {"torch": {"text": Spans(whole=spans(held, packages["torch"].versions))}}
    claims = {"demo.rank-lost": Looked(fixed=mark(pattern), found=found)}
    (kb / "verified.json").write_bytes(msgspec.json.encode(Verified(packages=packages, claims=claims)))


def test_the_check_reports_a_range_until_it_is_mended_or_explained(tmp_path: Path) -> None:
    """The place is the record's; an explanation silences it, and is itself reported where nothing needs it."""
    kb = sound(tmp_path)
    pattern = next(s.pattern for s in load_sources([kb])[0].signatures if s.id == "demo.rank-lost")
    results(kb, pattern, "2.9.1", "2.10.0")
    [problem] = check_directories([kb])
    assert problem.path.endswith(QUIET)
    assert "it is also in torch 2.9.1" in problem.message
    (kb / "verified-not.yaml").write_text("demo.rank-lost: it is another program's\n", encoding="utf-8")
    assert check_directories([kb]) == []
    results(kb, pattern, "2.10.0")
    assert ["the explanation is not needed" in one.message for one in check_directories([kb])] == [True]
    (kb / "verified-not.yaml").unlink()
    results(kb, "another pattern", "2.9.1", "2.10.0")
    [told] = check_directories([kb])
    assert (told.severity, "reads otherwise" in told.message) == ("warning", True)
