"""`docs/architecture.md` says what the code says: packages, what they import, paths and names."""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
DECISIONS = ROOT / "docs" / "decisions" / "README.md"
PACKAGE = ROOT / "assistant" / "distkb"
PROBES = ROOT / "probes" / "distkb_probes"
MOST_LINES = 120
ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@cache
def text() -> str:
    """The page."""
    return PAGE.read_text(encoding="utf-8")


def quoted() -> list[str]:
    """Everything that the page sets as code."""
    return CODE.findall(text())


def table() -> dict[str, set[str]]:
    """What each package imports by the page, in the order of its table."""
    return {name: set(CODE.findall(imports)) for name, imports in ROW.findall(text())}


def dotted(path: Path, root: Path) -> str:
    """The name of the package in a folder."""
    return ".".join(path.relative_to(root.parent).parts)


def imports_of_the_code() -> dict[str, set[str]]:
    """What each package or module directly below `distkb` imports of the others."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if own.startswith("__"):
            continue
        found.setdefault(own, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == "distkb":
                names = [f"distkb.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            parts = (name.split(".") for name in names)
            found[own] |= {part[1] for part in parts if part[0] == "distkb" and len(part) > 1} - {own, "__version__"}
    return found


def test_the_page_is_short() -> None:
    """Who is new here reads it in one go."""
    assert len(text().splitlines()) <= MOST_LINES


def test_the_table_says_what_each_package_imports() -> None:
    """Every package and module of `distkb` has a row, and its last column is what the code imports."""
    assert differences(table(), imports_of_the_code()) == {}


def differences(page: dict[str, set[str]], code: dict[str, set[str]]) -> dict[str, tuple[set[str], set[str]]]:
    """What the page names too much, and what it leaves out, for each package where the two differ."""
    names = page.keys() | code.keys()
    both = {name: (page.get(name, {"(no row)"}), code.get(name, {"(no such package)"})) for name in names}
    return {name: (said - done, done - said) for name, (said, done) in both.items() if said != done}


def test_a_package_imports_only_what_stands_above_it() -> None:
    """The table is the order of the packages: no row names itself or a later one."""
    above: set[str] = set()
    for name, imports in table().items():
        assert imports <= above, name
        above.add(name)


@pytest.mark.parametrize("root", [PACKAGE, PROBES], ids=lambda root: root.name)
def test_every_package_is_named(root: Path) -> None:
    """A new package gets its words here: those directly below `distkb` a row, all others their dotted name."""
    inner = {dotted(path.parent, root) for path in root.rglob("__init__.py")} - {root.name}
    rows = {f"distkb.{name}" for name in table()}
    assert inner <= rows | set(quoted()), inner - rows - set(quoted())


def test_dotted_names_exist() -> None:
    """What is written like `distkb.intake.read` is a module, or stands at the top of one."""
    names = [name.removesuffix(".*") for name in quoted() if re.fullmatch(r"distkb(_probes)?\.[\w.]+(\.\*)?", name)]
    assert names
    for name in names:
        assert exists(name), name


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or a class or function defined in one; nothing is imported for it."""
    root = ROOT / ("probes" if name.startswith("distkb_probes") else "assistant")
    path = root.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    module = path.parent.with_suffix(".py")
    body = ast.parse(module.read_text(encoding="utf-8")).body if module.is_file() else []
    return any(isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == path.name for node in body)


@pytest.mark.parametrize("page", [PAGE, DECISIONS], ids=lambda page: page.parent.name)
def test_paths_exist(page: Path) -> None:
    """What is written with a slash is a file or folder of the repository; `*` stands for any part of a name."""
    code = CODE.findall(page.read_text(encoding="utf-8"))
    paths = [path for path in code if "/" in path and re.fullmatch(r"[\w.*/-]+", path)]
    paths += [path for path in code if re.fullmatch(r"[\w-]+\.(md|toml|py|yaml)", path)]
    assert paths
    for path in paths:
        assert any(ROOT.glob(path.rstrip("/"))), path


def test_commands_exist() -> None:
    """A command of distkb that is named can be typed."""
    from distkb.cli.command import CommandGroup
    from distkb.cli.main import cli

    for words in (command.split()[1:] for command in quoted() if command.startswith("distkb ")):
        group = cli.modules
        for word in words:
            assert word in group, words
            found = group[word]
            group = found.modules if isinstance(found, CommandGroup) else {}


def test_the_drawing_names_modules() -> None:
    """What the drawing calls `evidence.*` is a module, so that a reader finds the box in the code."""
    drawing = re.search(r"^```text\n(.*?)^```$", text(), re.MULTILINE | re.DOTALL)
    assert drawing
    for name in re.findall(r"\bevidence\.\w+", drawing[1]):
        assert importlib.util.find_spec(f"distkb.{name}") is not None, name
