from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from distkb_probes.environment.launch import Table, find_launch
from distkb_probes.environment.processes import (
    HiddenProcessError,
    NoSuchProcessError,
    Stat,
    describe,
    environment_of,
    waits_for_a_file,
    waits_in_the_kernel,
)
from distkb_probes.secret_kinds import MASK

WORKER = "import os, signal, sys; os.write(1, b'.'); signal.pause()"
"""Says that it runs and waits; started once for each rank, with one child as a DataLoader would have."""
LOADING = f"import os, subprocess, sys; subprocess.run([sys.executable, '-c', {WORKER!r}])"


@contextmanager
def launched(script: str, ready: int, **environ: str) -> Iterator[int]:
    """Run a launcher script in bash until `ready` of its processes have said that they run."""
    with subprocess.Popen(
        ["bash", "-c", script],
        stdout=subprocess.PIPE,
        env={**os.environ, "PY": sys.executable, "WORKER": WORKER, "LOADING": LOADING, **environ},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert len(process.stdout.read(ready)) == ready
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


TOKEN = {"HF_TOKEN": "hf_abcdefghijklmnop"}
CONTRACT = "export MASTER_ADDR=127.0.0.1 MASTER_PORT=29533 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2\n"
TWO = CONTRACT + 'for r in 0 1; do RANK=$r LOCAL_RANK=$r "$PY" -c "$WORKER" & done; wait'


def ranks(pid: int) -> list[str | None]:
    """Return the RANK of each process of the launch that is found from `pid`."""
    table = Table()
    return [table.environment(found).get("RANK") for found in find_launch([pid], table).ranks]


def test_a_launch_is_found_from_its_launcher_and_from_each_rank() -> None:
    """Whichever process of a launch is named, all its ranks are found, in order."""
    with launched(TWO, 2) as pid:
        table = Table()
        launch = find_launch([pid], table)
        assert ranks(pid) == ["0", "1"]
        for rank in launch.ranks:
            assert ranks(rank) == ["0", "1"]
        assert find_launch([launch.ranks[1]], table).launchers == (pid,)


def test_children_of_a_rank_are_no_ranks() -> None:
    """A DataLoader worker inherits RANK; it is not counted, and leads to its own rank."""
    with launched(CONTRACT + 'for r in 0 1; do RANK=$r LOCAL_RANK=$r "$PY" -c "$LOADING" & done; wait', 2) as pid:
        launch = find_launch([pid], Table())
        assert ranks(pid) == ["0", "1"]
        (worker,) = Table().children(launch.ranks[1])
        assert find_launch([worker], Table()).ranks == launch.ranks


def test_a_wrapper_is_looked_through() -> None:
    """A rank that is started by a shell of its own is the Python in it."""
    script = CONTRACT + """for r in 0 1; do RANK=$r LOCAL_RANK=$r bash -c '"$PY" -c "$WORKER"; :' & done; wait"""
    with launched(script, 2) as pid:
        for rank in find_launch([pid], Table()).ranks:
            assert "python" in describe(rank, environment_of(rank))["command"].split()[0]


def test_lightnings_own_launch_is_found() -> None:
    """Lightning starts the other ranks from the first one, without RANK; all of them are found from any of them."""
    script = 'exec "$PY" -c \'import os, subprocess, sys; os.write(1, b".");'
    script += 'subprocess.run([sys.executable, "-c", os.environ["WORKER"]], '
    script += 'env={**os.environ, "LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"})\''
    with launched(script, 2) as pid:
        (second,) = Table().children(pid)
        assert find_launch([pid], Table()).ranks == (second, pid)
        assert find_launch([second], Table()).ranks == (second, pid)


def made_up(processes: Mapping[int, tuple[int, str, Mapping[str, str]]]) -> Table:
    """Build a table from the parent, the command line and the environment of each process."""
    return Table(
        {pid: Stat(pid=pid, parent=parent, session=1, state="S") for pid, (parent, _, _) in processes.items()},
        lambda pid: dict(processes[pid][2]) if pid in processes else {},
        lambda pid: processes[pid][1].split() if pid in processes else [],
    )


LIGHTNING = {"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"}


def named(rank: int, size: int, port: int) -> dict[str, str]:
    """Return what a launcher, or somebody by hand, sets for a rank."""
    return {"RANK": f"{rank}", "WORLD_SIZE": f"{size}", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": f"{port}"}


@pytest.mark.parametrize("neighbour", [LIGHTNING, named(0, 2, 29500), named(1, 4, 29500)])
def test_what_runs_beside_lightning_is_not_of_its_launch(neighbour: Mapping[str, str]) -> None:
    """Two ranks of Lightning are two, also where the terminal that started them runs another job."""
    job = {40: (1, "tmux", {}), 41: (40, "python other.py", neighbour)}
    table = made_up({**job, 50: (40, "python fit.py", {}), 51: (50, "python fit.py", LIGHTNING)})
    assert find_launch([51], table).ranks == find_launch([50], table).ranks == (51, 50)


def test_another_launch_of_the_same_terminal_is_left_out() -> None:
    """A rank that was started by hand is not of one launch with the other jobs of its terminal."""
    table = made_up(
        {
            40: (1, "tmux", {}),
            41: (40, "bash", {}),
            42: (41, "python a.py", named(0, 2, 29500)),
            43: (40, "bash", {}),
            44: (43, "python a.py", named(1, 2, 29500)),
            45: (40, "torchrun b.py", {}),
            46: (45, "python b.py", named(0, 2, 29511)),
            47: (45, "python b.py", named(1, 2, 29511)),
            48: (40, "python c.py", named(0, 1, 29512)),
            49: (40, "bash", {}),
            50: (49, "python d.py", named(0, 2, 29513)),
            51: (49, "python d.py", named(1, 2, 29513)),
        }
    )
    assert find_launch([42], table).ranks == find_launch([44], table).ranks == (42, 44)
    assert find_launch([47], table).ranks == (46, 47)
    assert find_launch([48], table).ranks == (48,)
    assert find_launch([51], table).ranks == (50, 51)


def test_ranks_that_name_different_masters_are_found_together() -> None:
    """Ranks started by hand with a port mistyped are one launch: the port is what is wrong with it."""
    table = made_up(
        {
            40: (1, "tmux", {}),
            42: (40, "python a.py", named(0, 2, 29500)),
            44: (40, "python a.py", named(1, 2, 29501)),
        }
    )
    assert find_launch([42], table).ranks == find_launch([44], table).ranks == (42, 44)


def test_two_launches_of_one_shell_are_kept_apart() -> None:
    """A rank leads to its own launch and not to one that was started beside it."""
    one = 'bash -c \'for r in 0 1; do RANK=$r LOCAL_RANK=$r "$PY" -c "$WORKER" & done; wait\' &\n'
    with launched(CONTRACT + one + "export MASTER_PORT=29534\n" + one + "wait", 4) as pid:
        first, second = Table().children(pid)
        assert len(find_launch([first], Table()).ranks) == 2
        rank = find_launch([second], Table()).ranks[0]
        assert find_launch([rank], Table()).ranks == find_launch([second], Table()).ranks


def test_pids_that_are_named_are_taken_as_they_are() -> None:
    """Several pids name the ranks themselves."""
    with launched(TWO, 2) as pid:
        both = find_launch([pid], Table()).ranks
        assert find_launch(list(both), Table()).ranks == both


def test_a_process_that_is_not_there() -> None:
    """A pid that nobody has is named in the error."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    with pytest.raises(NoSuchProcessError, match=str(gone.pid)):
        find_launch([gone.pid], Table())


def test_a_process_that_may_not_be_looked_into() -> None:
    """A hidden rank is noted, and the rest is still found."""
    stats = {pid: Stat(pid=pid, parent=parent, session=1, state="S") for pid, parent in ((50, 1), (51, 50), (52, 50))}

    def environment(pid: int) -> dict[str, str]:
        if pid == 52:
            raise HiddenProcessError(pid)
        return {"RANK": "0"} if pid == 51 else {}

    table = Table(stats, environment, lambda _pid: ["python", "t.py"])
    launch = find_launch([51, 52], table)
    assert launch.ranks == (51, 52)
    assert launch.hidden == (52,)


@pytest.fixture
def readable() -> Iterator[Path]:
    """A copy of the probes that every user may read, wherever the repository lies."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        shutil.copytree(Path(__file__).parents[2] / "probes", Path(directory) / "probes")
        yield Path(directory)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_users_process_is_said_to_be_hidden(tmp_path: Path, readable: Path) -> None:
    """What the kernel does not let this user read is told as such, for that process alone."""
    probes = readable / "probes"
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("no system Python")
    with launched(TWO, 2) as pid:
        answer = subprocess.run(
            [python, probes / "distkb_probes", "env"],
            input=f'{{"pids": [{pid}]}}\n',
            capture_output=True,
            text=True,
            user=65534,
            cwd=tmp_path.anchor,
            timeout=120,
            check=True,
        )
    import json

    facts = json.loads(answer.stdout)["facts"]
    assert [row["pid"] for row in facts["unreadable"]] == [pid]
    assert facts["unreadable"][0]["user"] == "root"
    assert facts["versions"]["python"]


STUCK = "import ctypes, os, signal; ctypes.CDLL(None).vfork(); os.write(1, b'.'); signal.pause()"
"""The parent of a vfork waits uninterruptibly for a child that never goes on."""


def test_a_process_that_waits_in_the_kernel_is_told_from_one_that_sleeps() -> None:
    """State D counts when it lasts; an ordinary sleeper is none."""
    with launched('"$PY" -c "$STUCK"', 1, STUCK=STUCK) as pid:
        table = Table()
        stuck = [below for below in (pid, *table.below(pid)) if waits_in_the_kernel(below, for_s=0.1)]
        assert len(stuck) == 1
        assert not waits_for_a_file(stuck[0])
    with launched(TWO, 2) as pid:
        assert not waits_in_the_kernel(pid, for_s=0.1)


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("fsfreeze"), reason="needs root, to freeze a file system")
def test_a_process_that_waits_for_its_disk_is_told_from_other_waits(tmp_path: Path) -> None:
    """A file system that answers no writer: state D, in a call on a file."""
    image, disk = tmp_path / "image", tmp_path / "disk"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    made = [
        subprocess.run(words, check=False, capture_output=True).returncode
        for words in (
            ["mkfs.ext4", "-q", "-F", str(image)],
            ["mount", "-o", "loop", str(image), str(disk)],
            ["fsfreeze", "-f", str(disk)],
        )
    ]
    try:
        if any(made):
            pytest.skip("no loop device here")
        writer = subprocess.Popen([sys.executable, "-c", f"open({str(disk / 'log')!r}, 'w').write('x')"])
        until = time.monotonic() + 120
        while not (waits_in_the_kernel(writer.pid, for_s=0.1) and waits_for_a_file(writer.pid)):
            assert time.monotonic() < until
            time.sleep(0.05)
        subprocess.run(["fsfreeze", "-u", disk], check=True)
        assert writer.wait(120) == 0
        assert not waits_for_a_file(writer.pid)
    finally:
        subprocess.run(["fsfreeze", "-u", disk], check=False, capture_output=True)
        subprocess.run(["umount", disk], check=False, capture_output=True)


def test_a_process_is_described() -> None:
    """State, place, limits and the masked environment of a process are read from /proc."""
    with launched(TWO, 2, **TOKEN) as pid:
        rank = find_launch([pid], Table()).ranks[1]
        told = describe(rank, environment_of(rank))
    assert (told["rank"], told["local_rank"], told["parent"]) == (1, 1, pid)
    assert told["environment"]["MASTER_PORT"] == "29533"
    assert told["environment"]["HF_TOKEN"] == MASK
    assert told["cwd"] == str(Path.cwd())
    assert told["limits"]["nofile"] > 0
    assert sum(told["threads"].values()) == 1
    assert "hf_abc" not in str(told)
