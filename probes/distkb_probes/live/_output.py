"""Prints and saves results: on one rank only, and never in the job's way."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any

from distkb_probes.live._result import Findings, as_document, clean

_kept: deque[Findings] = deque(maxlen=64)
_clean_files: dict[str, Path] = {}


def publish(result: Findings, *, first: bool, report: bool, save: str | Path | None) -> None:
    """Keep the result for `document`, and on the first rank print what was found and write the file."""
    _kept.append(result)
    folder = save or os.environ.get("DISTKB_LIVE_DIR")
    if not first:
        return
    if report and result.findings:
        say(result, str(folder) if folder else None)
    if folder:
        _write(result, Path(folder))


def say(result: Findings, folder: str | None) -> None:
    """Print one line per finding, made of its id and values; the sentences are in the catalogue."""
    for item in result.findings:
        values = " ".join(f"{name}={_quoted(value)}" for name, value in item.values.items() if value)
        write(f"{item.id} {values}")
    where = folder or "DIR"
    if result.findings:
        write(f"read with: distkb diagnose {where}" + ("" if folder else " (after DISTKB_LIVE_DIR=DIR or save=DIR)"))


def say_fine(result: Findings, number: int, ranks: int) -> None:
    """Print on the first rank the one line of a check that found nothing."""
    if number != 0 or result.reason == "not-in-group":
        return
    told = f"{ranks} ranks agree" if ranks > 1 else f"this process only ({result.reason or 'one rank'})"
    write(f"ok, {told} ({result.elapsed_s:.2f} s)")


def write(line: str) -> None:
    """Print one line on stderr."""
    try:
        sys.stderr.write(f"distkb live: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # a closed stderr is no reason to fail
        return


def document() -> dict[str, Any]:
    """Return the results of this process so far, at most the last 64, as one raw document of a probe."""
    return as_document(_kept)


def _write(result: Findings, folder: Path) -> None:
    """Write `live-<n>.json`. A check without findings overwrites its last such file, so that they do not pile up."""
    text = json.dumps(result.as_json(), ensure_ascii=False, indent=1) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if result.ok and result.check in _clean_files and _clean_files[result.check].parent == folder:
            path = _clean_files[result.check]
        else:
            path = _free(folder)
        draft = path.with_suffix(".part")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        write(f"not saved: {clean(error)}")
        return
    if result.ok:
        _clean_files[result.check] = path


def _free(folder: Path) -> Path:
    """Create and return the first free file of the series."""
    number = 1 + max((int(path.stem[5:]) for path in folder.glob("live-*.json") if path.stem[5:].isdigit()), default=0)
    while True:
        path = folder / f"live-{number}.json"
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return path


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False) if not value or " " in value or '"' in value else value
