"""What runs by itself (workflows, hooks, forms, editors) can be read, and its commands exist."""

from __future__ import annotations

import configparser
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
HOOKS = ROOT / ".pre-commit-config.yaml"
EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
OTHERS = {"awk", "gh", "grep", "sudo"}
"""Programs of the machine that workflows call; everything else belongs to Python or to this project."""
FIELDS = {"checkboxes", "dropdown", "input", "markdown", "textarea"}
RECORDED = ("data", "golden", "kept", "logs", "recorded", "seeds", "vectors")
"""Folders whose files are what some run left, byte for byte."""
WRITTEN = {".css", ".j2", ".js", ".md", ".py", ".toml", ".yaml", ".yml"}
"""Kinds of files that people write."""


def read(path: Path) -> Any:
    """A YAML file."""
    import yaml

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def pyproject() -> Any:
    """The project's settings."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """All steps of a workflow."""
    for job in read(path)["jobs"].values():
        yield from job["steps"]


def calls(script: str) -> Iterator[list[str]]:
    """The commands of a script as words, one for each line or part of a pipe; assignments are left out."""
    for line in EXPRESSION.sub("VALUE", script).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|")
        lexer.whitespace_split = True
        call: list[str] = []
        for word in [*lexer, "|"]:
            if word != "|":
                call.append(word)
                continue
            if call and not re.match(r"\w+=", call[0]):
                yield call
            call = []


def check_distkb(words: list[str]) -> None:
    """A command line of distkb names a command, and options that this command has."""
    import click

    from distkb.cli.command import CommandGroup
    from distkb.cli.main import cli

    command: click.Command = cli
    rest = words
    while isinstance(command, CommandGroup) and rest and not rest[0].startswith("-"):
        found = command.get_command(click.Context(command), rest[0])
        assert found is not None, words
        command, rest = found, rest[1:]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= options, words


def check_call(words: list[str]) -> None:
    """What is called is a file of the repository, a tool of the environment, or a known program of the machine."""
    program, *rest = words
    if program == "distkb":
        check_distkb(rest)
    elif program.startswith("python"):
        if rest[0] != "-m":
            assert (ROOT / rest[0]).is_file(), words
    elif "/" in program:
        assert program.startswith("$RUNNER_TEMP/") or (ROOT / program).is_file(), words
    else:
        assert program in OTHERS or (Path(sys.executable).parent / program).is_file(), words


def test_there_are_workflows_and_forms() -> None:
    """The tests below have something to look at."""
    assert {path.stem for path in WORKFLOWS} == {"nightly", "release", "site", "tests"}
    assert {path.stem for path in FORMS} == {"new-failure", "wrong-answer"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_commands_of_a_workflow_exist(path: Path) -> None:
    """Each step uses an action of a stated version, or runs commands that are there."""
    for step in steps(path):
        assert ("uses" in step) != ("run" in step), step
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step
        for words in calls(step.get("run", "")):
            check_call(words)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_write_only_where_a_job_says_so(path: Path) -> None:
    """The token of a workflow reads; jobs that publish ask for more, and every job has an end."""
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 120 for job in workflow["jobs"].values())


def test_the_tests_run_on_every_python_that_is_promised() -> None:
    """From the oldest of `requires-python` on, without a gap, and what runs is `.ci/run`."""
    job = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["whole"]
    versions = [tuple(map(int, version.split("."))) for version in job["strategy"]["matrix"]["python"]]
    oldest = tuple(map(int, pyproject()["project"]["requires-python"].removeprefix(">=").split(".")))
    assert versions == [(3, minor) for minor in range(oldest[1], 15)]
    assert job["steps"][-1] == {"run": ".ci/run"}


def test_the_hooks_are_checks_of_ci() -> None:
    """A hook runs a tool of the environment, and only such as `.ci/run` runs too; nothing is fetched for it."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for repository in read(HOOKS)["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            assert hook["language"] == "system"
            words = shlex.split(hook["entry"])
            check_call(words)
            assert " ".join(word for word in words if not word.startswith("-")) in script, hook["id"]


def test_what_others_use_calls_commands_that_exist() -> None:
    """The hook for other repositories and the action are wrappers: they call distkb with options that it has."""
    for hook in read(ROOT / ".pre-commit-hooks.yaml"):
        check_distkb(shlex.split(hook["entry"])[1:])
    called = [
        words
        for step in read(ROOT / "action.yml")["runs"]["steps"]
        for words in calls(step["run"])
        if words[0].endswith("/distkb")
    ]
    assert called
    for _, *words in called:
        check_distkb([word for word in words if word != "--" and not word.startswith("$")])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_can_be_filled_in(path: Path) -> None:
    """Fields have an id and a label, each once; something is asked for; the commands it names exist."""
    form = read(path)
    assert form["name"]
    assert form["description"]
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in form["body"]} <= FIELDS
    assert len({field["id"] for field in asked}) == len({field["attributes"]["label"] for field in asked}) == len(asked)
    assert any(field.get("validations", {}).get("required") for field in asked)
    for field in form["body"]:
        said = " ".join(str(text) for text in field["attributes"].values())
        for command in re.findall(r"`distkb ([^`]+)`", said):
            check_distkb(shlex.split(command))


def test_editors_and_the_linter_agree() -> None:
    """Lines of Python are as long for an editor as for ruff."""
    editors = configparser.ConfigParser()
    editors.read_string("[top]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
    assert editors["top"]["root"] == "true"
    assert editors["*.py"].getint("max_line_length") == pyproject()["tool"]["ruff"]["line-length"]


def written() -> Iterator[Path]:
    """Files that people write: not what was recorded, installed or built."""
    for top in (".ci", ".github", "assistant", "docs", "kb", "probes", "site", "tests"):
        for path in (ROOT / top).rglob("*"):
            parts = path.relative_to(ROOT).parts
            if path.suffix in WRITTEN and not {*RECORDED, "node_modules"} & set(parts[:-1]):
                yield path
    yield from (path for path in ROOT.iterdir() if path.suffix in WRITTEN)


def test_files_are_as_editors_are_told() -> None:
    """UTF-8, line feeds, a line feed at the end, nothing after the last word of a line."""
    for path in written():
        data = path.read_bytes()
        data.decode("utf-8")
        assert b"\r" not in data, path
        assert not data or data.endswith(b"\n"), path
        assert not re.search(rb"[ \t]$", data, re.MULTILINE), path
