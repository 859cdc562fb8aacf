"""What a probe says: findings, facts, progress, and the one JSON document at its end."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

SCHEMA = "distkb.probe-raw/1"
STAGE_MARK = "\x1e"
"""Begins a line of progress on stderr: `<mark>{"stage": key, ...}`. Programs print no record separators."""


class Stopped(Exception):  # noqa: N818 - an end, not an error
    """Ends a probe early; the document says why."""


class Report:
    """Collects what a probe finds. Nothing in it is a sentence: texts belong to the catalogue."""

    def __init__(self, probe: str) -> None:
        self.probe = probe
        self.status = "ok"
        self.reason: str | None = None
        self.detail = ""
        self._found: list[dict[str, Any]] = []
        self._clear: list[str] = []
        self._facts: dict[str, Any] = {}
        self._began = time.monotonic()

    def found(
        self, identity: str, *, values: Mapping[str, object] | None = None, quotes: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Note one finding. `values` fill its sentence; a quote has `text` and may have `path`, `line`, `rank`."""
        filled = {name: str(value) for name, value in (values or {}).items()}
        self._found.append({"id": identity, "values": filled, "quotes": [dict(quote) for quote in quotes]})

    def clear(self, *identities: str) -> None:
        """Note what was looked for and is not there."""
        self._clear += [identity for identity in identities if identity not in self._clear]

    def fact(self, name: str, value: object) -> None:
        """Note a fact: anything that JSON can hold."""
        self._facts[name] = value

    def stage(self, key: str, **values: object) -> None:
        """Say what is being done now."""
        line = json.dumps({"stage": key, "values": {name: str(value) for name, value in values.items()}})
        sys.stderr.write(f"{STAGE_MARK}{line}\n")
        sys.stderr.flush()

    def fail(self, code: str, detail: str = "") -> NoReturn:
        """End the probe: it could not be carried out."""
        self.status, self.reason, self.detail = "error", code, detail
        raise Stopped(code)

    def skip(self, code: str, detail: str = "") -> NoReturn:
        """End the probe: something it needs is not there (`no-torch`, `no-gpu`, …)."""
        self.status, self.reason, self.detail = "skipped", code, detail
        raise Stopped(code)

    def document(self) -> dict[str, Any]:
        """Return everything as the raw document of a probe."""
        found = {item["id"] for item in self._found}
        return {
            "schema": SCHEMA,
            "probe": self.probe,
            "status": self.status,
            "reason": self.reason,
            "detail": self.detail,
            "found": self._found,
            "clear": [identity for identity in self._clear if identity not in found],
            "facts": self._facts,
            "elapsed_s": round(time.monotonic() - self._began, 3),
        }


def take_stdout() -> int:
    """Keep stdout for the document: whatever else prints goes to stderr. Returns the descriptor to write it to."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.set_inheritable(kept, False)
    os.dup2(2, 1)
    return kept
