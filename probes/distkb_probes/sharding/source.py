"""Finds and calls the user's `module:callable`, and says in one line what went wrong if it does."""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

NOT_ON_META = (
    "meta tensor",
    "on meta",
    "device meta",
    "meta device",
    "and meta",
    "meta and",
    "'meta'",
    '"meta"',
    "aten::_local_scalar_dense",
)
"""Parts of torch's messages when a value of a tensor without memory is needed."""


@dataclass(frozen=True)
class Place:
    """A line of the user's own code."""

    path: str
    line: int
    text: str


class Unusable(Exception):  # noqa: N818 - an answer for the user
    """The model could not be had; `code` says how, `place` where in the user's code."""

    def __init__(self, code: str, detail: str, place: Place | None = None, cause: BaseException | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.place = place
        self.cause = cause


def load(name: str, cwd: str | None = None) -> Callable[..., Any]:
    """Return what `module:callable` or `path/to/file.py:callable` names, imported from `cwd`.

    Raises Unusable.
    """
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise Unusable("model-spec", name)
    folder = cwd or os.getcwd()  # noqa: PTH109 - sys.path holds strings
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = _guarded(lambda: _module(where, folder), "import-failed", where)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise Unusable("callable-missing", f"{where} has no {attribute}{_alike(module, attribute)}")
        found = getattr(found, part)
    if not callable(found):
        raise Unusable("not-callable", f"{name} is a {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def call(function: Callable[..., Any], name: str) -> Any:
    """Return what the callable returns. Raises Unusable."""
    import inspect

    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise Unusable("needs-arguments", f"{name}: {error}") from None
    except ValueError:
        pass
    return _guarded(function, "callable-failed", name)


def _module(where: str, folder: str) -> Any:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    path = Path(folder, where)
    if not path.is_file():
        raise Unusable("module-not-found", f"{path}: no such file")
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Unusable("module-not-found", str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _guarded(action: Callable[[], Any], code: str, name: str) -> Any:
    """Run the user's code; whatever it raises becomes Unusable."""
    try:
        return action()
    except (Unusable, KeyboardInterrupt, GeneratorExit):
        raise
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing and (name == missing or name.startswith(f"{missing}.")):
            raise Unusable("module-not-found", f"{name} (looked in {sys.path[0]})") from None
        raise _unusable(error, code) from None
    except SystemExit as error:
        raise Unusable("exited", f"{name} called sys.exit({error.code!r})", place(error.__traceback__)) from None
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and any end of it is an answer
        raise _unusable(error, code) from None


def _unusable(error: BaseException, code: str) -> Unusable:
    message = " ".join(str(error).split())[:400]
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, SyntaxError):
        return Unusable(code, text, Place(error.filename or "?", error.lineno or 0, (error.text or "").strip()))
    if any(part in message for part in NOT_ON_META):
        code = "not-on-meta"
    return Unusable(code, text, place(error.__traceback__), error)


def place(trace: TracebackType | None) -> Place | None:
    """Return the innermost line of a traceback that is neither ours nor in an installed package."""
    ours = str(Path(__file__).resolve().parent.parent)
    outside = ("site-packages", "dist-packages", f"{os.sep}torch{os.sep}", "<frozen", f"lib{os.sep}python", ours)
    for frame in reversed(traceback.extract_tb(trace)):
        if not any(part in frame.filename for part in outside):
            line = frame.lineno or 0
            return Place(frame.filename, line, (frame.line or linecache.getline(frame.filename, line)).strip())
    return None


def locals_of(error: BaseException | None, function: str) -> Mapping[str, Any]:
    """Return the local variables of the innermost frame of `function` in an error's traceback."""
    found: Mapping[str, Any] = {}
    trace = error.__traceback__ if error else None
    while trace is not None:
        if trace.tb_frame.f_code.co_name == function:
            found = trace.tb_frame.f_locals
        trace = trace.tb_next
    return found


def _alike(module: Any, attribute: str) -> str:
    import difflib

    close = difflib.get_close_matches(attribute, [name for name in dir(module) if not name.startswith("_")], n=1)
    return f"; {close[0]} exists" if close else ""
