"""Starts a probe: `python -m distkb_probes NAME [REQUEST]`, or `python …/distkb_probes NAME [REQUEST]` from anywhere.

With a REQUEST (a JSON object) it runs by itself, under a guard of its own; without one the guard has started it and
the request is the first line of stdin. `--worker NAME ARGUMENTS...` starts one of the processes that a probe launches.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DEADLINE_S = 60.0


def _own_package() -> None:
    """Make this very directory the package `distkb_probes`, without putting anything on the user's import path."""
    if __package__:
        return
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != HERE]
    spec = importlib.util.spec_from_file_location(
        "distkb_probes", HERE / "__init__.py", submodule_search_locations=[str(HERE)]
    )
    if spec is None or spec.loader is None:
        raise SystemExit(2)
    package = importlib.util.module_from_spec(spec)
    sys.modules["distkb_probes"] = package
    spec.loader.exec_module(package)


def main(arguments: list[str]) -> int:
    """Run what the arguments name; returns the exit code."""
    if len(arguments) > 1 and arguments[0] == "--worker":
        return _work(arguments[1], arguments[2:])
    if len(arguments) == 2:
        return _alone(*arguments)
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m distkb_probes NAME [JSON]\n")
        return 2
    return _probe(arguments[0], sys.stdin.readline())


def _module(name: str) -> Any:
    return importlib.import_module("distkb_probes." + name.replace("-", "_"))


def _work(name: str, arguments: list[str]) -> int:
    from distkb_probes._lifeline import die_with_parent

    die_with_parent()
    return int(_module(name).worker(arguments) or 0)


def _alone(name: str, request: str) -> int:
    """Run under a guard that dies with this process."""
    seconds = float(json.loads(request).get("deadline_s", DEADLINE_S))
    command = [sys.executable, str(HERE / "_guard.py"), str(seconds + 5.0), sys.executable, str(HERE), name]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own file
    assert guard.stdin is not None  # noqa: S101 - a pipe was asked for
    guard.stdin.write(" ".join(request.splitlines()).encode() + b"\n")
    guard.stdin.flush()
    return guard.wait()


def _probe(name: str, request: str) -> int:
    from distkb_probes._report import Report, Stopped, take_stdout

    out = take_stdout()
    report = Report(name)
    try:
        _module(name).run(json.loads(request), report)
    except Stopped:
        pass
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a document is printed whatever happens
        import traceback

        traceback.print_exc()
        report.status, report.reason = "error", "crashed"
        report.detail = f"{type(problem).__name__}: {problem}"
    with os.fdopen(out, "w", encoding="utf-8", errors="replace") as file:
        json.dump(report.document(), file)
    return 0


if __name__ == "__main__":
    _own_package()
    sys.exit(main(sys.argv[1:]))
