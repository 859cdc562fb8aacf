"""The repository's own papers: README, CI and code agree."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.ko.md")
FENCED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(name: str) -> list[str]:
    """Shell commands of a README, one per fenced block."""
    return [block.strip() for block in FENCED.findall((ROOT / name).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", READMES)
def test_a_readme_has_two_set_up_commands_of_one_line(name: str) -> None:
    """One command diagnoses the shipped incident, one runs the tests; each is a single line to copy."""
    diagnose, test = (c for c in commands(name) if c.startswith("python3 -m venv"))
    assert "\n" not in diagnose + test
    assert "distkb diagnose kb/incidents/" in diagnose
    assert test.endswith("python -m pytest")


def test_both_readmes_carry_the_same_commands() -> None:
    """What is shown to copy is the same in both languages."""
    assert commands("README.md") == commands("README.ko.md")


def test_the_incident_of_the_readme_exists() -> None:
    """The first command's logs are in the repository."""
    found = re.search(r"distkb diagnose (kb/incidents/\S+)", commands("README.md")[0])
    assert found
    assert any((ROOT / found[1]).rglob("*.log"))


@pytest.mark.parametrize("name", READMES)
def test_every_command_of_the_program_is_in_the_readme(name: str) -> None:
    """A reader of the README meets every command that `distkb --help` lists."""
    from distkb.cli.command import CommandGroup
    from distkb.cli.main import cli

    text = (ROOT / name).read_text(encoding="utf-8")
    for command, module in cli.modules.items():
        leaves = [f"{command} {leaf}" for leaf in module.modules] if isinstance(module, CommandGroup) else [command]
        for leaf in leaves:
            assert f"distkb {leaf}" in text, leaf


def test_ci_runs_the_second_command_of_the_readme() -> None:
    """`.ci/run` takes the command from the README, so that the two cannot drift."""
    printed = subprocess.run(
        ["bash", str(ROOT / ".ci" / "run"), "--print-command"], capture_output=True, text=True, check=True, timeout=120
    )
    assert printed.stdout.strip() == commands("README.md")[1]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_changelog_names_the_version() -> None:
    """The newest version of the changelog is the package's."""
    from distkb import __version__

    versions = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] in {"Unreleased", __version__}
    assert __version__ in versions


def test_the_numbers_of_the_guide_to_entries_are_the_programs() -> None:
    """The guide's likelihoods and priors are those that the diagnosis computes with."""
    from distkb.catalogue.model import PRIOR_WEIGHT, PROBABILITY

    text = (ROOT / "docs" / "entry.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z]+)` \| ([0-9.]+) \|", text, re.MULTILINE))
    assert {word: float(number) for word, number in rows.items()} == PROBABILITY
    for word, weight in PRIOR_WEIGHT.items():
        assert re.search(rf"`{word}`\s(?:weighs )?{weight:g}\b", text), word


def test_the_contributing_guide_is_short() -> None:
    """It is read before the first change; what only some need stands in `docs/`."""
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 120


PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A link to a file of the repository names one."""
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_every_page_of_the_docs_is_linked() -> None:
    """Nobody looks for a page that nothing names."""
    said = "".join((ROOT / name).read_text(encoding="utf-8") for name in (*READMES, "CONTRIBUTING.md"))
    for page in (ROOT / "docs").rglob("*.md"):
        assert f"({page.relative_to(ROOT).as_posix()})" in said, page


NAMES = {
    "import-linter": "lint-imports",
    "jsonschema-rs": "jsonschema_rs",
    "markdown-it-py": "markdown_it",
    "py-spy": "py-spy",
    "pyyaml": "yaml",
}
"""What packages are called where they are used, if not by their own name."""
SWITCHES = {"pytest-timeout": "timeout = ", "pytest-xdist": '"--strict-markers --strict-config -n auto'}
"""What in `pyproject.toml` needs a plugin."""


def uses() -> str:
    """Every import of the program, the tests and the build, the commands of CI, and what is started by name."""
    files = [path for top in ("assistant", "tests", "kb") for path in (ROOT / top).rglob("*.py")]
    lines = (line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    found = [line for line in lines if re.match(r"\s*(?:from|import) |.*\bpy-spy\b", line)]
    return "\n".join([*found, (ROOT / ".ci" / "run").read_text(encoding="utf-8")])


def test_every_dependency_is_used() -> None:
    """What is installed for this project is imported, started, or switched on somewhere."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = .*?^\[project.scripts\]", settings, re.MULTILINE | re.DOTALL)
    assert listed
    text = uses()
    for package in re.findall(r'"([a-zA-Z][\w-]*)(?:[<>=].*)?"[,\]\n]', listed[0]):
        word = package.removeprefix("types-").lower()
        if package in SWITCHES:
            assert SWITCHES[package] in settings, package
        else:
            assert re.search(rf"\b{re.escape(NAMES.get(word, word))}\b", text), package
