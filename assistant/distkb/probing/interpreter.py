"""Finds the Python whose environment the training runs in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

Why = Literal["asked", "virtualenv", "conda", "path", "own"]
"""Where the interpreter comes from: `--python`, an active virtualenv or conda environment, PATH, or distkb's own."""

_ASK = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 9)"
_ASK_S = 20.0
"""Seconds to wait for an interpreter to say whether it has torch: environments on network disks are slow."""


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """A Python to run probes with."""

    path: Path
    why: Why
    has_torch: bool
    passed_over: tuple[tuple[Why, Path], ...] = ()
    """Interpreters that came first and have no torch."""


class NoInterpreterError(ValueError):
    """The interpreter that was asked for cannot be started; the text is its path."""


def find_interpreter(asked: Path | None = None, environ: Mapping[str, str] | None = None) -> Interpreter:
    """Return the Python asked for, or the first of virtualenv, conda, PATH and distkb's own that has torch.

    Where none has torch the first of them is returned: probes that need no torch still run. torch is looked for
    without importing it. Raises NoInterpreterError for a Python that was asked for and cannot be started.
    """
    environ = os.environ if environ is None else environ
    if asked is not None:
        path = _executable(asked, environ)
        has_torch = None if path is None else _has_torch(path)
        if path is None or has_torch is None:
            raise NoInterpreterError(str(asked))
        return Interpreter(path=path, why="asked", has_torch=has_torch)
    passed: list[tuple[Why, Path]] = []
    for why, path in _candidates(environ):
        has_torch = _has_torch(path)
        if has_torch:
            return Interpreter(path=path, why=why, has_torch=True, passed_over=tuple(passed))
        if has_torch is not None:
            passed.append((why, path))
    why, path = passed[0] if passed else ("own", Path(sys.executable))
    return Interpreter(path=path, why=why, has_torch=False, passed_over=tuple(passed[1:]))


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[Why, Path]]:
    seen: set[Path] = set()
    prefixes: tuple[tuple[Why, str], ...] = (("virtualenv", "VIRTUAL_ENV"), ("conda", "CONDA_PREFIX"))
    found: list[tuple[Why, Path]] = [
        (why, Path(environ[name]) / "bin" / "python") for why, name in prefixes if environ.get(name)
    ]
    for name in ("python", "python3"):
        on_path = shutil.which(name, path=environ.get("PATH"))
        if on_path:
            found.append(("path", Path(on_path)))
    found.append(("own", Path(sys.executable)))
    for why, path in found:
        # Not resolved: a virtualenv's python is a link, and what it links to is another environment.
        if path not in seen and os.access(path, os.X_OK):
            seen.add(path)
            yield why, path


def _executable(asked: Path, environ: Mapping[str, str]) -> Path | None:
    """Return what `--python` names: a file, an environment's directory, or a command on PATH."""
    if asked.is_dir():
        asked = asked / "bin" / "python"
    found = shutil.which(str(asked), path=environ.get("PATH"))
    return Path(found).absolute() if found else None


def _has_torch(python: Path) -> bool | None:
    """Say whether an interpreter finds torch; None where it does not even start."""
    try:
        code = subprocess.run(  # noqa: S603 - the interpreter is the user's own
            [python, "-c", _ASK], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False
        ).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {0: True, 9: False}.get(code)
