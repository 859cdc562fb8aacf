"""Every command and block of code that a reader copies parses, and names what the installed packages have."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import catalogue_names as names
import pytest

from distkb.catalogue.checks.code import unparsed

GUIDES = sorted((names.ROOT / "kb" / "guides").glob("*.md"))
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
FILLED_IN = re.compile(r"<[A-Za-z][\w ./-]*>|\{[a-z_]+\}|…")
"""What a reader fills in; to a shell it is a redirection or nothing that it knows."""
SHELL = ("", "sh", "bash", "shell", "console")
RESOLVED = ("torch", "accelerate")


def commands() -> Iterator[tuple[str, str]]:
    """Yield every command with where it stands."""
    for entry in names.catalogue().entries:
        for cause in entry.causes:
            for fix in cause.fixes:
                for command in fix.commands:
                    yield fix.id, command
    for kind in ("steps", "findings"):
        for record in getattr(names.catalogue(), kind):
            for command in getattr(record, "commands", ()):
                yield record.id, command


def blocks() -> Iterator[tuple[str, str, str]]:
    """Yield every block of code with where it stands and its language."""
    for entry in names.catalogue().entries:
        for cause in entry.causes:
            for fix in cause.fixes:
                if fix.code:
                    for name in ("before", "after"):
                        yield f"{fix.id} {name}", fix.code.language, textwrap.dedent(getattr(fix.code, name))
    for guide in GUIDES:
        for match in FENCED.finditer(guide.read_text(encoding="utf-8")):
            yield f"{guide.name} {match[3][:40]!r}", match[2], textwrap.dedent(match[3])


def of_bash(scripts: list[tuple[str, str]], home: Path) -> list[str]:
    """Return what bash refuses to read, all of it with one start."""
    for number, (_, script) in enumerate(scripts):
        (home / str(number)).write_text(FILLED_IN.sub("x", script) + "\n")
    loop = 'for n in $(seq 0 "$1"); do said=$(bash -n "$n" 2>&1) || echo "$n $said" | head -1; done'
    done = subprocess.run(
        ["bash", "-c", loop, "-", str(len(scripts) - 1)], cwd=home, capture_output=True, text=True, check=True
    )
    return [f"{scripts[int(line.split()[0])][0]}: {line}" for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_every_command_is_one_that_a_shell_reads(tmp_path: Path) -> None:
    """Commands of fixes, steps and findings, and blocks of shell in entries and guides, pass `bash -n`."""
    scripts = [*commands(), *((where, code) for where, language, code in blocks() if language in SHELL)]
    assert len(scripts) > 300
    assert of_bash(scripts, tmp_path) == []


def test_every_block_parses_in_its_language() -> None:
    """Python, JSON and YAML of entries and guides."""
    wrong = {where: unparsed(code, language) for where, language, code in blocks()}
    assert {where: why for where, why in wrong.items() if why} == {}


def embedded(command: str) -> Iterator[str]:
    """Yield the programs that a command gives to `python -c`."""
    for match in re.finditer(r"""python3? -c (?:'([^']*)'|"((?:[^"\\]|\\.)*)")""", command):
        yield match[1] or re.sub(r'\\(["$`\\])', r"\1", match[2] or "")


def test_programs_inside_commands_parse() -> None:
    """What stands behind `python -c` is Python."""
    found = [(where, code) for where, command in commands() for code in embedded(command)]
    assert len(found) > 20
    wrong = {where: unparsed(FILLED_IN.sub("x", code), "python") for where, code in found}
    assert {where: why for where, why in wrong.items() if why} == {}


def calls(code: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the names that code takes from a resolved package, each with the keywords that it is called with."""
    tree = ast.parse(code)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                whole = one.name if one.asname else one.name.partition(".")[0]
                known[one.asname or whole] = whole
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known |= {(one.asname or one.name): f"{node.module}.{one.name}" for one in node.names}
    known |= {"torch": "torch", "dist": known.get("dist", "torch.distributed"), "nn": known.get("nn", "torch.nn")}
    for name in known.values():
        yield name, []
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else node
        dotted = ast.unparse(called) if isinstance(called, (ast.Attribute, ast.Name)) else ""
        first, _, rest = dotted.partition(".")
        if first in known and re.fullmatch(r"[\w.]+", dotted):
            words = [word.arg for word in node.keywords if word.arg] if isinstance(node, ast.Call) else []
            yield f"{known[first]}.{rest}".rstrip("."), words


def resolve(name: str) -> Any:
    """Return what a dotted name stands for."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise AttributeError(name)


def refused(name: str, words: list[str]) -> str:
    """Return why an installed package does not know a name or a keyword; nothing where it does."""
    try:
        value = resolve(name)
        parameters = inspect.signature(value).parameters if words else {}
    except AttributeError:
        return f"no {name}"
    except (TypeError, ValueError):
        return ""
    if any(one.kind == one.VAR_KEYWORD for one in parameters.values()):
        return ""
    return "".join(f"{name} takes no {word}" for word in words if parameters and word not in parameters)


def main() -> None:
    """Print what the code of fixes and guides names and this interpreter's packages do not have."""
    warnings.simplefilter("ignore")
    for where, language, code in blocks():
        if language == "python" and not where.endswith(" before"):
            own = [call for call in calls(code) if call[0].startswith(RESOLVED) and call[0] not in names.elsewhere()]
            for why in sorted({refused(name, words) for name, words in own} - {""}):
                print(f"{where}: {why}")  # noqa: T201


@pytest.mark.torchrun
def test_code_names_what_the_packages_have() -> None:
    """What the code after a fix, and that of the guides, takes from torch and accelerate exists, keywords too."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == []


if __name__ == "__main__":
    main()
