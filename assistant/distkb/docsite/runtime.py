"""The program as one script, for the page that diagnoses: Python for browsers (Pyodide), msgspec, and distkb itself.

Pyodide and msgspec's build for it are two archives that lie in `site/runtime`, or nowhere: then the page says that it
cannot diagnose. They are taken only as they are named here. All of it is text of a script, since a page that was opened
from a folder cannot fetch.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import lzma
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import distkb
import distkb_probes
from distkb.catalogue.compiled import compile_catalogue
from distkb.catalogue.kept import keep, read_kept
from distkb.docsite.scripts import script
from distkb.evidence.readers.report.report_reader import ReportReader

if TYPE_CHECKING:
    from distkb.docsite.views import Library

PYODIDE: Final = "pyodide-314.0.7.tgz"
"""From registry.npmjs.org, as `npm pack pyodide@314.0.7` writes it."""
MSGSPEC: Final = "msgspec-0.23.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl"
"""From pypi.org."""
DIGESTS: Final = {
    PYODIDE: "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0",
    MSGSPEC: "1836f50ad87e7c56600b648a1b75c3bbcce62835cb1f489435fc5fee8d068831",
}
"""SHA-256 of each archive."""
PARTS: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
"""What a browser needs of Pyodide."""
LEFT_OUT: Final = ("cli", "docsite", "mcp", "probing", "repro", "sessions", "sizing", "tui", "verify", "watching")
"""Rooms of the program that have nothing to do in a browser."""


class DamagedRuntimeError(ValueError):
    """An archive is not the one that is named here; the text is its path."""


def missing(folder: Path) -> list[str]:
    """Return the names of the archives that a folder does not have."""
    return [name for name in DIGESTS if not (folder / name).is_file()]


def archives(folder: Path) -> dict[str, bytes] | None:
    """Return both archives of a folder by name; None where one is missing. Raises DamagedRuntimeError."""
    if missing(folder):
        return None
    paths = [folder / name for name in DIGESTS]
    found = {path.name: path.read_bytes() for path in paths}
    for path in paths:
        if hashlib.sha256(found[path.name]).hexdigest() != DIGESTS[path.name]:
            raise DamagedRuntimeError(str(path))
    return found


def engine(given: dict[str, bytes], library: Library, worker: bytes, cache_dir: Path | None = None) -> bytes:
    """Return the script that holds all of it, as `distkb.engine`: each part by name, packed, and the worker's script.

    The same archives and catalogue give the same bytes; packing takes seconds, so that the cache keeps the last ones.
    """
    data = compile_catalogue(library.catalogue, {"search": bytes(library.search)})
    files = [*modules(), *_wheel(given[MSGSPEC]), ("catalogue", data)]
    own = (("worker", worker), ("packing", Path(__file__).read_bytes()))
    path = None if cache_dir is None else cache_dir / f"engine-{_digest([*files, *own])}.js"
    if path is not None and (kept := read_kept(path)) is not None:
        return kept
    made = _packed(given, [*files, *_prepared(library)], worker)
    if path is not None:
        keep(path, made)
    return made


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    key = hashlib.sha256("".join(DIGESTS.values()).encode())
    for name, content in files:
        key.update(f"{name}\0{len(content)}\0".encode() + content)
    return key.hexdigest()[:24]


def _packed(given: dict[str, bytes], files: Sequence[tuple[str, bytes]], worker: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(given[PYODIDE])) as pyodide:
        parts = {name: _member(pyodide, f"package/{name}") for name in PARTS}
        info = json.loads(_member(pyodide, "package/pyodide-lock.json"))["info"]
    parts["lock.json"] = json.dumps({"info": info, "packages": {}}).encode()  # no package is ever asked for
    parts["distkb.tar"] = lzma.compress(_tar(files), preset=6)
    packed = {name: base64.b64encode(gzip.compress(part, 9, mtime=0)).decode() for name, part in parts.items()}
    return script("engine", packed | {"worker.js": worker.decode()})


def _tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def _prepared(library: Library) -> Iterator[tuple[str, bytes]]:
    """Yield what reading a description needs of all patterns, which takes a browser seconds to work out."""
    with tempfile.TemporaryDirectory(prefix="distkb-site-") as folder:
        ReportReader(library.catalogue.signatures, Path(folder)).prepare()
        for path in sorted(Path(folder).iterdir()):
            yield f"cache/{path.name}", path.read_bytes()


def modules() -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file of this program and of what it imports that is written in Python."""
    yaml = find_spec("yaml")
    packages = [*distkb.__path__, *distkb_probes.__path__, *(yaml.submodule_search_locations or () if yaml else ())]
    for package in map(Path, packages):
        for path in sorted(package.rglob("*")):
            inside = path.relative_to(package)
            if path.suffix in {".py", ".json"} and not _is_left_out(package.name, inside):
                yield f"{package.name}/{inside.as_posix()}", path.read_bytes()


def _is_left_out(package: str, path: Path) -> bool:
    return package == "distkb" and path.parts[0] in (*LEFT_OUT, "_kb", "_site")


def _wheel(content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        for name in sorted(wheel.namelist()):
            yield name, wheel.read(name)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise DamagedRuntimeError(name)
    return file.read()
