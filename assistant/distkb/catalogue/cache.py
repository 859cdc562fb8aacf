"""Opens the catalogue quickly: the compiled file of the installation, or one in the cache that is still true.

A cached file, or the one that installing a checkout made, is true while no source file has changed in path, size or
time, nor the modules that compile it.
"""

from __future__ import annotations

import gc
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from distkb.catalogue import places
from distkb.catalogue.compiled import Compiled, NotCompiledError, compile_catalogue
from distkb.catalogue.listing import source_files
from distkb.catalogue.problem import CatalogueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from distkb.catalogue.model import Catalogue
    from distkb.catalogue.problem import Problem

    BuildExtra = Callable[[Catalogue], Mapping[str, bytes]]

PRECOMPILED: Final = "compiled.msgpack"
"""The compiled catalogue that a wheel carries inside its knowledge base."""


def open_compiled(directories: Sequence[Path], build_extra: BuildExtra) -> Compiled:
    """Open the catalogue of the knowledge bases, the built-in one first; see `places.knowledge_bases`.

    `build_extra` returns further sections to store beside the catalogue; it is called only when compiling.
    `CatalogueError` where the first knowledge base has an error. What is wrong with the others is in `problems`,
    and the records concerned are left out.
    """
    shipped = _read(directories[0] / PRECOMPILED) if len(directories) == 1 else None
    if shipped is not None:
        return shipped
    state = fingerprint(directories)
    cached = cache_file(directories)
    for kept in (cached, *places.prepared(PRECOMPILED)):
        found = _read(kept)
        if found is not None and found.fingerprint == state:
            return found
    data = build(directories, build_extra, state)
    from distkb.catalogue.kept import replace

    replace(cached, data)
    return Compiled(data)


def build(directories: Sequence[Path], build_extra: BuildExtra, state: bytes = b"") -> bytes:
    """Load and compile knowledge bases; `CatalogueError` where the first one has an error."""
    from distkb.catalogue.load import load_sources

    collected = gc.isenabled()
    gc.disable()  # all that is built is kept to the end: looking for garbage takes a quarter of the time
    try:
        catalogue, problems = load_sources(directories)
        own = [problem for problem in problems if _is_in(problem, directories[0])]
        if own:
            raise CatalogueError(own)
        return compile_catalogue(catalogue, build_extra(catalogue), problems=problems, fingerprint=state)
    finally:
        if collected:
            gc.enable()


def fingerprint(directories: Sequence[Path]) -> bytes:
    """Return what changes when a source changes: names, sizes and times of the files, and of the compiling modules."""
    lines = [f"{os.path.abspath(directory)}\n{_files(directory)}" for directory in directories]  # noqa: PTH100
    lines += [modules(directory) for directory in places.code_directories()]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def cache_file(directories: Sequence[Path]) -> Path:
    """Return where the compiled form of these knowledge bases is kept."""
    names = "\0".join(os.path.abspath(directory) for directory in directories)  # noqa: PTH100
    key = zlib.crc32(names.encode("utf-8", "surrogateescape"))
    return places.cache_directory() / f"catalogue-{key:08x}.msgpack"


def _files(directory: Path) -> str:
    return "\n".join(f"{file.path}\t{file.size}\t{file.mtime_ns}" for file in source_files(directory))


def modules(directory: Path) -> str:
    """Return what changes when a module of a directory does."""
    with os.scandir(directory) as found:
        modules = sorted((item.name, item.stat()) for item in found if item.name.endswith(".py"))
    return "\n".join(f"{name}\t{stat.st_size}\t{stat.st_mtime_ns}" for name, stat in modules)


def _is_in(problem: Problem, directory: Path) -> bool:
    return problem.severity == "error" and Path(problem.path).is_relative_to(directory)


def _read(path: Path) -> Compiled | None:
    try:
        return Compiled(path.read_bytes())
    except (OSError, NotCompiledError):
        return None
