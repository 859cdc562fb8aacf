"""Every variable and API name that the catalogue uses, and where the installed libraries read or define it.

`python tests/truth/catalogue_names.py` prints the table; `test_names.py` fails on a name that nothing knows.

A variable is known when a record of `kb/settings` says who reads it (or that nothing does), and where that is torch,
accelerate or Python themselves, the installed sources are searched for it. An API name of torch or accelerate is
looked up in the installed package. `elsewhere.yaml` lists names of software that is not installed here, with what they
are and where that was read.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import mmap
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from distkb.catalogue.load import load_sources

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = re.compile(r"(?<![\w./%$-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w(])", re.ASCII)
API = re.compile(r"(?<![\w./-])(?:torch|accelerate)(?:\.[A-Za-z_]\w*)+", re.ASCII)
UNREAD_TEXTS = frozenset(
    {"pattern", "example", "url", "evidence", "given", "id", "shows", "entry", "slug", "refuted_by"}
)
"""Fields that are no claims: patterns and log lines, addresses, ids."""
INSTALLED = ("torch", "accelerate")


@dataclass
class Name:
    """A name with the entries that use it and what knows it."""

    name: str
    used_by: list[str] = field(default_factory=list)
    known_by: str = ""
    """`record`, `known names`, `path:line`, `elsewhere`; empty when nothing knows it."""


def strings(value: Any) -> Iterator[str]:
    """Yield every text of a record that claims something."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in UNREAD_TEXTS:
                yield from strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from strings(inner)


@functools.cache
def catalogue() -> Any:
    """The built-in catalogue."""
    return load_sources([ROOT / "kb"])[0]


@functools.cache
def elsewhere() -> dict[str, str]:
    """Names that no installed package knows, with what they are."""
    import yaml

    listed: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("elsewhere.yaml").read_text())
    return {name: why for group in listed.values() for name, why in group.items()}


def texts() -> Iterator[tuple[str, str]]:
    """Yield each text with the id of the entry or the name of the guide that it stands in."""
    for entry in catalogue().entries:
        for text in strings(msgspec.to_builtins(entry)):
            yield entry.id, text
    for guide in sorted((ROOT / "kb").glob("guides/*.md")):
        yield guide.name, guide.read_text()


def collected(pattern: re.Pattern[str]) -> dict[str, Name]:
    """Every match of a pattern in the texts, with where it is used."""
    found: dict[str, Name] = {}
    for where, text in texts():
        for match in pattern.findall(text):
            name = found.setdefault(match, Name(match))
            if where not in name.used_by:
                name.used_by.append(where)
    return found


@functools.cache
def sources() -> tuple[tuple[str, str], ...]:
    """The sources of the installed packages that may read a variable: path and text."""
    out = []
    for package in INSTALLED:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        home = Path(spec.origin).parent
        paths = sorted([*home.rglob("*.py"), *home.glob("include/torch/csrc/**/*.h*")])
        out += [(str(path.relative_to(home.parent)), path.read_text(errors="replace")) for path in paths]
    return tuple(out)


@functools.cache
def libraries() -> tuple[Path, ...]:
    """The compiled parts of the installed torch."""
    spec = importlib.util.find_spec("torch")
    return tuple(sorted((Path(spec.origin).parent / "lib").glob("lib*.so"))) if spec and spec.origin else ()


@functools.cache
def in_sources(name: str) -> str:
    """Where an installed package holds a name as a word: `path:line`, or the library; empty when nowhere."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for path, text in sources():
        if name in text and (match := word.search(text)):
            return f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
    for library in libraries():
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(name.encode()) >= 0:
                return library.name
    return ""


def variables() -> list[Name]:
    """Every variable or constant of the catalogue with what knows it."""
    records = {setting.name: setting for setting in catalogue().settings}
    exact = {name for group in catalogue().names for name in group.names}
    prefixes = tuple(name.removesuffix("*") for name in exact if name.endswith("*"))
    out = collected(VARIABLE)
    for name in out.values():
        if name.name in records:
            name.known_by = f"record: {records[name.name].status}"
        elif name.name in exact or name.name.startswith(prefixes):
            name.known_by = "known names"
        elif name.name in elsewhere():
            name.known_by = f"elsewhere: {elsewhere()[name.name]}"
        else:
            name.known_by = in_sources(name.name)
    return sorted(out.values(), key=lambda name: name.name)


def apis() -> list[Name]:
    """Every dotted name of torch and accelerate in the catalogue, with whether the installed package has it."""
    out = {name.rstrip("."): Name(name, found.used_by) for name, found in collected(API).items()}
    code = (
        "import importlib, json, sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "def there(name):\n"
        "    parts = name.split('.')\n"
        "    for cut in range(len(parts), 0, -1):\n"
        "        try: value = importlib.import_module('.'.join(parts[:cut]))\n"
        "        except Exception: continue\n"
        "        try:\n"
        "            for part in parts[cut:]: value = getattr(value, part)\n"
        "            return True\n"
        "        except AttributeError: return False\n"
        "    return False\n"
        "print(json.dumps({name: there(name) for name in json.load(sys.stdin)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(sorted(out)), capture_output=True, text=True, check=True
    )
    has: dict[str, bool] = json.loads(done.stdout.splitlines()[-1])
    for name in out.values():
        if has[name.name]:
            name.known_by = "installed"
        elif name.name in elsewhere():
            name.known_by = f"elsewhere: {elsewhere()[name.name]}"
        else:
            # A file's name or a logger's, or something that only a CUDA build has: its sources say so.
            name.known_by = in_sources(name.name)
    return sorted(out.values(), key=lambda name: name.name)


def unread_but_found() -> list[tuple[str, str]]:
    """Names that by the catalogue nothing reads, and that an installed source reads from the environment after all."""
    out = []
    for setting in catalogue().settings:
        if setting.status != "unread" or setting.place != "environment":
            continue
        reads = re.compile(rf"""(?:environ(?:\.get)?|getenv|getCvar\w*)\W+["']{re.escape(setting.name)}["']""")
        out += [(setting.name, path) for path, text in sources() if reads.search(text)]
    return out


def claimed_but_absent() -> list[str]:
    """Variables whose record says that torch or accelerate read them now, and that no installed source holds."""
    out = []
    for setting in catalogue().settings:
        if setting.place != "environment" or setting.status != "current":
            continue
        now = [by for by in setting.read_by if by.component in INSTALLED and by.until is None and _is_old(by.since)]
        if now and not in_sources(setting.name) and setting.name not in elsewhere():
            out.append(setting.name)
    return out


def _is_old(since: str | None) -> bool:
    """Whether the pinned torch (2.13) or accelerate (1.15) is new enough."""
    if since is None:
        return True
    parts = [int(part) for part in since.split(".")[:2] if part.isdigit()]
    return parts <= ([2, 13] if parts and parts[0] >= 2 else [1, 15])


if __name__ == "__main__":
    for one in (*variables(), *apis()):
        print(f"{one.name:<60} {one.known_by or '?? nothing knows it':<60} {' '.join(one.used_by[:6])}")  # noqa: T201
