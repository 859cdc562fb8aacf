"""Calls the functions of a program and prints what each of them saw as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable


def error_of(call: Callable[[], object]) -> str:
    """Return the name and the text of the error that a call ends with; nothing where it does not."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what was asked for
        return f"{type(error).__name__}: {error}"
    return ""


def see(functions: Iterable[Callable[[], object]]) -> dict[str, object]:
    """Return what the functions saw; of one that fails, its error, so that the others still count."""
    seen: dict[str, object] = {}
    for show in functions:
        failed = error_of(lambda show=show: seen.update({show.__name__: show()}))  # type: ignore[misc]
        if failed:
            seen[show.__name__] = f"failed: {failed}"
    return seen


def tell(seen: dict[str, object]) -> None:
    """Print it for the test to read."""
    print("SEEN", json.dumps(seen), flush=True)  # noqa: T201
