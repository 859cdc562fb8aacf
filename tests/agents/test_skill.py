"""`distkb skill`: one short file, made of the help, that names no command that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from distkb.cli.main import cli
from distkb.locale import Say
from distkb.report.digest.tokens import tokens


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_it_is_short_and_says_what_never_to_do(lang: str, tmp_path: Path) -> None:
    """It is written where it is asked for, as agents look for it, and is what is printed without a folder."""
    result = CliRunner().invoke(cli, ["skill", "--write", str(tmp_path / "skills" / "distkb"), "--lang", lang])
    path = tmp_path / "skills" / "distkb" / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    assert (result.exit_code, result.stdout) == (0, f"{path}\n")
    assert text == CliRunner().invoke(cli, ["skill", "--lang", lang]).stdout
    assert re.match(r"---\nname: distkb\ndescription: [^\n:]+\n---\n", text)
    assert tokens(text) < 2500
    assert "`pkill`" in text


def test_every_command_in_it_exists() -> None:
    """Each line names a command with what its own help says of it."""
    text = CliRunner().invoke(cli, ["skill", "--lang", "en"]).stdout
    say = Say("en")
    for names, short in re.findall(r"^- `distkb ([\w -]+)`: (.+?)\. `distkb", text, re.MULTILINE):
        key = ".".join(["help", *names.split(), "short"])
        assert say(key) == short
    for line in re.findall(r"`distkb ([\w-]+)", text):
        assert cli.get_command(click.Context(cli), line) is not None, line
