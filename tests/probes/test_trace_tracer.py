"""The tracer in one process: its lines, and that it never gets in the way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from distkb.evidence.readers.traces import read_traces

TRACE = Path(__file__).parents[2] / "probes" / "distkb_probes" / "trace.py"
LINE = re.compile(
    r"distkb-trace v1 #\d{4,} time=\S+ elapsed=\d+\.\d{3} rank=\S+ local_rank=\S+ world=\S+ pid=\d+ host=\S+ "
    r'kind=\w+ name="[^\n]*'
)


def run(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script with a copy of the tracer beside it, as `distkb_trace`."""
    (folder / "distkb_trace.py").write_text(TRACE.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "script.py").write_text("import distkb_trace as trace\n" + script, encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**env, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def lines(folder: Path) -> list[str]:
    """All lines of the trace files."""
    return [line for path in sorted((folder / "distkb-trace").iterdir()) for line in path.read_text().splitlines()]


def test_a_line_has_its_fields_in_order_in_the_file_and_on_stderr(tmp_path: Path) -> None:
    """Marks, spans and decorated functions give numbered lines, the same in both places."""
    script = (
        "trace.start()\ntrace.mark('after \"data\"')\n"
        "with trace.span('load'): pass\n"
        "@trace.span\ndef work(): return 5\n"
        "@trace.span('named')\ndef other(n): return 1 if n == 0 else other(n - 1)\n"
        "assert work() + other(2) == 6\n"
    )
    done = run(tmp_path, script, RANK="3", WORLD_SIZE="8", LOCAL_RANK="1")
    assert done.returncode == 0, done.stderr
    written = lines(tmp_path)
    assert all(LINE.fullmatch(line) for line in written)
    assert [line for line in done.stderr.splitlines() if line.startswith("distkb-trace")] == written
    assert [int(re.search(r"#(\d+)", line)[1]) for line in written] == list(range(1, len(written) + 1))  # type: ignore[index]
    assert sum('name="named"' in line for line in written) == 6
    assert all(" rank=3 local_rank=1 world=8 " in line for line in written)
    assert 'script.py:3"' in next(line for line in written if "kind=mark" in line)
    (row,) = read_traces([tmp_path / "distkb-trace"]).facts["ranks"]
    assert (row["rank"], row["last"], row["state"]) == (3, "leave named", "ended")


def test_off_means_off(tmp_path: Path) -> None:
    """With DISTKB_TRACE=0 nothing is written or printed."""
    done = run(tmp_path, "trace.start()\ntrace.mark('x')\nwith trace.span('y'): pass\n", DISTKB_TRACE="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "distkb-trace").exists()


def test_secrets_are_not_written(tmp_path: Path) -> None:
    """Only known variables are noted, and of these none that may hold a secret."""
    variables = {"WANDB_API_KEY": "abcd" * 10, "NCCL_MY_TOKEN": "tok-123", "NCCL_DEBUG": "INFO"}
    done = run(tmp_path, "trace.start()", **variables)
    assert '"NCCL_DEBUG": "INFO"' in done.stderr
    assert "abcd" not in done.stderr
    assert "tok-123" not in done.stderr


def test_a_folder_that_cannot_be_written_does_not_stop_the_script(tmp_path: Path) -> None:
    """The lines still go to stderr, and a closed stderr is borne too."""
    (tmp_path / "taken").write_text("a file")
    done = run(tmp_path, "trace.start(dir='taken')\ntrace.mark('x')\nprint('done')")
    assert done.stdout == "done\n"
    assert 'name="x"' in done.stderr
    script = "import os, sys\ntrace.start()\nos.close(2)\nfor _ in range(9): trace.mark('x')\nprint('done')"
    assert run(tmp_path, script).stdout == "done\n"


def test_an_exception_passes_and_is_noted(tmp_path: Path) -> None:
    """A span does not swallow what is raised, and the end says why the program ended."""
    done = run(tmp_path, "trace.start()\nwith trace.span('load'):\n    raise KeyError('shard')\n")
    assert done.returncode == 1
    assert "error=\"KeyError: 'shard'\"" in next(line for line in lines(tmp_path) if "kind=fail" in line)
    assert "KeyError" in next(line for line in lines(tmp_path) if "kind=end" in line)


def test_a_handler_of_the_script_is_left_alone(tmp_path: Path) -> None:
    """SIGUSR1 goes to the script's own handler where it has one, also one of faulthandler."""
    script = (
        "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('mine', flush=True))\n"
        "trace.start()\nos.kill(os.getpid(), signal.SIGUSR1)\n"
    )
    assert run(tmp_path, script).stdout == "mine\n"
    script = (
        "import faulthandler, os, signal, sys\nfaulthandler.register(signal.SIGUSR1, file=sys.stdout)\n"
        "trace.start()\nos.kill(os.getpid(), signal.SIGUSR1)\n"
    )
    assert "most recent call first" in run(tmp_path, script).stdout


def test_silence_is_noted_once_with_the_stacks(tmp_path: Path) -> None:
    """A quiet time gives one dump, and the next only after another sign of life."""
    script = "import time\ntrace.start(quiet_s=0.3)\ntime.sleep(1.5)\ntrace.mark('x')\ntime.sleep(0.8)\n"
    run(tmp_path, script)
    written = lines(tmp_path)
    assert sum("kind=quiet" in line for line in written) == 2
    assert sum("script.py" in line and line.startswith("  File") for line in written) == 2


def test_a_child_process_is_silent_until_it_starts_by_itself(tmp_path: Path) -> None:
    """What a fork inherits writes nothing in the name of its parent."""
    script = (
        "import os\ntrace.start()\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)\n"
        "trace.mark('after')\n"
    )
    run(tmp_path, script)
    assert len({re.search(r"pid=(\d+)", line)[1] for line in lines(tmp_path)}) == 1  # type: ignore[index]


def test_modules_are_wrapped_when_they_are_imported_and_none_is_broken(tmp_path: Path) -> None:
    """A logger's module is wrapped lazily, keeps its loader, and one that lacks the name is left as it is."""
    (tmp_path / "wandb.py").write_text("def init(project=None):\n    '''Start.'''\n    return project\n")
    script = (
        "trace.start()\nimport inspect, wandb\nassert wandb.init(project='p') == 'p'\n"
        "assert wandb.init.__doc__ == 'Start.' and list(inspect.signature(wandb.init).parameters) == ['project']\n"
        "assert type(wandb.__spec__.loader).__name__ == 'SourceFileLoader'\n"
    )
    done = run(tmp_path, script)
    assert done.returncode == 0, done.stderr
    assert 'kind=enter name="wandb.init" op="logger"' in done.stderr
    (tmp_path / "wandb.py").write_text("start = 1\n")
    done = run(tmp_path, "trace.start()\nimport wandb\nprint(wandb.start)")
    assert done.stdout == "1\n"


@pytest.mark.parametrize("count", [2000])
def test_a_mark_costs_little(tmp_path: Path, count: int) -> None:
    """A mark, written to the file and to stderr, stays below half a millisecond on a busy machine."""
    script = (
        f"import time\ntrace.start(auto=False)\nbest = 9.0\nfor _ in range(5):\n    t = time.perf_counter()\n"
        f"    for _ in range({count // 5}): trace.mark('x')\n"
        f"    best = min(best, (time.perf_counter() - t) / {count // 5})\nprint(best)\n"
    )
    assert float(run(tmp_path, script).stdout) < 5e-4
