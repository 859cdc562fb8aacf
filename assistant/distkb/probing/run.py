"""Runs one probe under the user's interpreter, with limits, and never leaves a process behind.

The probe runs below a guard (`distkb_probes._guard`), which this module starts with distkb's own interpreter: a user's
environment on a slow disk must not delay the one process that everything else depends on. The guard's stdin is the
lifeline: the kernel closes it when distkb ends, however it ends, and the guard then kills all that is below it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from distkb.evidence.text.clean import quote_text
from distkb.probing.document import RawDocument

GRACE_S = 5.0
"""Seconds that the guard allows beyond the probe's own deadline."""
_STAGE_MARK = "\x1e"
_MOST_LINE = 4096
_LAST_LINES = 40


class Stage(msgspec.Struct, frozen=True):
    """What a running probe is doing: key of the sentence `probe.stage.<stage>`, and its values."""

    stage: str
    values: dict[str, str] = {}


Listener = Callable[[Stage | str], None]
"""Told of every stage and of every line that the probe prints, cleaned and masked; called from another thread."""


def probes_directory() -> Path:
    """Return the directory of the package `distkb_probes`."""
    spec = importlib.util.find_spec("distkb_probes")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("distkb_probes")
    return Path(spec.submodule_search_locations[0]).absolute()


def command(probe: str, python: Path, *, deadline_s: float) -> list[str]:
    """Return the command that runs a probe, for the process list and for telling the user beforehand."""
    directory = probes_directory()
    guard = [sys.executable, "-S", "-E", str(directory / "_guard.py"), f"{deadline_s + GRACE_S:g}"]
    return [*guard, str(python), str(directory), probe]


class ProbeRun:
    """One run of one probe. `result` waits for its document; `cancel` ends it and all its processes."""

    def __init__(
        self,
        probe: str,
        request: Mapping[str, Any],
        python: Path,
        *,
        deadline_s: float,
        environ: Mapping[str, str] | None = None,
        listener: Listener | None = None,
    ) -> None:
        """Start it. The request must be JSON-able; `deadline_s` is added to it. Raises OSError if nothing starts."""
        self._probe = probe
        self._listener = listener
        self._cancelled = False
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._process = subprocess.Popen(  # noqa: S603 - our own guard
            command(probe, python, deadline_s=deadline_s),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environ is None else dict(environ),
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()
        with contextlib.suppress(BrokenPipeError):
            stdin = self._pipe(self._process.stdin)
            stdin.write(msgspec.json.encode({**request, "deadline_s": deadline_s}) + b"\n")
            stdin.flush()

    @property
    def pid(self) -> int:
        """Return the guard's process id."""
        return self._process.pid

    def result(self) -> RawDocument:
        """Wait for the document. A run without any gives one with the reason `cancelled`, `died` or `no-document`."""
        try:
            printed = self._pipe(self._process.stdout).read()
            self._process.wait()
        except BaseException:
            self.cancel()
            raise
        self._reader.join(timeout=1.0)
        if self._cancelled:
            return self._failed("cancelled")
        try:
            document = msgspec.json.decode(printed, type=RawDocument)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._failed("no-document")
        return msgspec.structs.replace(document, probe=self._probe)

    def cancel(self) -> None:
        """End the probe and every process below it; returns when they are gone."""
        self._cancelled = True
        with contextlib.suppress(OSError):
            self._pipe(self._process.stdin).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=15.0)

    def _failed(self, reason: str) -> RawDocument:
        last = self._last[-1] if self._last else ""
        return RawDocument(schema="distkb.probe-raw/1", probe=self._probe, status="error", reason=reason, detail=last)

    def _read_output(self) -> None:
        stream = self._pipe(self._process.stderr)
        while line := stream.readline(_MOST_LINE):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            event: Stage | str | None = _stage(text) if text.startswith(_STAGE_MARK) else quote_text(text)
            if isinstance(event, str) and event:
                self._last.append(event)
            if self._listener is not None and event:
                self._listener(event)

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise BrokenPipeError
        return pipe


def _stage(line: str) -> Stage | None:
    try:
        stage = msgspec.json.decode(line[len(_STAGE_MARK) :], type=Stage)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Stage(stage.stage, {name: quote_text(value) for name, value in stage.values.items()})
