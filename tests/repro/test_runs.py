"""How a program is run: its environment, its machines, and the stacks of a silence."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import built_in
import pytest
from reproductions import KB
from sample_entry import LOST, overlay

from distkb.catalogue.load import load_sources
from distkb.repro import launch
from distkb.repro.outcome import ProgramRun
from distkb.repro.program import Program, find_program
from distkb.repro.run import EXIT_RACE, Reproduction

pytestmark = pytest.mark.slow

PYTHON = Path(sys.executable)
TWO_RANKS = """
import os, subprocess, sys, time
if "RANK" in os.environ:
    for _ in range(600):  # silent until somebody has looked, at most a minute
        if os.path.isdir("../stacks") and len(os.listdir("../stacks")) == 2:
            break
        time.sleep(0.1)  # here
    time.sleep(0.5)
    {inside}
else:
    print("step 1 loss 0.5", flush=True)
    ranks = [
        subprocess.Popen([sys.executable, __file__], env={{**os.environ, "RANK": str(r), "WORLD_SIZE": "2"}})
        for r in range(2)
    ]
    sys.exit(max(rank.wait() for rank in ranks))
"""


def program(directory: Path, text: str, repro: str = "launch: python") -> Program:
    """The sample entry with this program."""
    base = overlay(directory, text, repro)
    entry = load_sources([base])[0].entries[0]
    found = find_program(entry, [base])
    assert found is not None
    return found


def run(wanted: Program, directory: Path, *, fixed: bool = False) -> ProgramRun:
    """Run it."""
    return Reproduction(wanted, directory / "artifacts", PYTHON, fixed=fixed).result()


def test_a_job_s_leftover_variables_change_nothing(tmp_path: Path) -> None:
    """Of the caller's variables none that a launcher or a user sets for a job remains; the entry's own come last."""
    wanted = program(tmp_path, "", "launch: python\nenv: {TORCH_DISTRIBUTED_DEBUG: DETAIL, OMP_NUM_THREADS: '2'}")
    leftover = {"RANK": "3", "MASTER_ADDR": "n0", "NCCL_DEBUG": "INFO", "SLURM_PROCID": "1", "TORCH_LOGS": "all"}
    leftover |= {"TORCHELASTIC_RUN_ID": "x", "GLOO_SOCKET_IFNAME": "eth9", "TORCH_DISTRIBUTED_DEBUG": "OFF"}
    made = launch.environment(wanted, tmp_path, "2.13.0", {**leftover, "PATH": "/bin", "HOME": "/root"})
    assert (made["PATH"], made["HOME"]) == ("/bin", "/root")
    assert made["TORCH_DISTRIBUTED_DEBUG"] == "DETAIL"
    assert made["OMP_NUM_THREADS"] == "2"
    assert made["CUDA_VISIBLE_DEVICES"] == ""
    assert not made.keys() & (leftover.keys() - {"TORCH_DISTRIBUTED_DEBUG"})


@pytest.mark.parametrize(
    ("torch", "read", "unread"),
    [
        ("2.13.0+cpu", "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
        ("2.8.0", "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"),
        ("2.7.1", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
    ],
)
def test_the_recorder_is_on_by_the_names_that_this_torch_reads(
    torch: str, read: str, unread: str, tmp_path: Path
) -> None:
    """Since 2.8 torch reads other names: it renamed the variables and warns of the old names."""
    made = launch.environment(program(tmp_path, ""), tmp_path, torch, {})
    assert read in made
    assert unread not in made


def test_the_program_runs_elsewhere_under_a_user_s_name(tmp_path: Path) -> None:
    """It is called train.py, stands in an empty directory, and nothing around it says which entry it is."""
    text = "import os, sys\nprint(sys.argv[0], os.listdir('.'), os.path.dirname(__file__) in sys.path)\n"
    left = run(program(tmp_path, text), tmp_path)
    path, listing, _ = left.console().split(maxsplit=2)
    assert Path(path).name == "train.py"
    assert listing == "[]"
    assert "ACME1" not in path
    assert not Path(path).exists()


@pytest.mark.parametrize("into", ["sys.stdout", "(pathlib.Path.cwd() / 'stderr.log').open('w')"])
def test_what_is_left_over_of_an_exit_race_of_torch_is_no_failure_of_the_fix(tmp_path: Path, into: str) -> None:
    """A fixed run that ended in torch's race at exit, told on the console or in a rank's file, is repeated."""
    flag = tmp_path / "been-here"
    text = f"""
import pathlib, sys
flag = pathlib.Path({str(flag)!r})
if not flag.exists():
    flag.touch()
    print({EXIT_RACE!r}, file={into})
    sys.exit(-6)
"""
    wanted = program(tmp_path, text)
    assert not run(wanted, tmp_path).succeeded
    flag.unlink()
    assert run(wanted, tmp_path, fixed=True).succeeded


needs_spy = pytest.mark.skipif(
    sys.platform != "linux" or not (shutil.which("py-spy") or (PYTHON.parent / "py-spy").exists()),
    reason="stacks are taken with py-spy through /proc",
)


@needs_spy
def test_when_a_run_goes_quiet_the_stacks_of_its_ranks_are_taken(tmp_path: Path) -> None:
    """A hang that ends in an error leaves one file a rank, with the line where each stood."""
    inside = f"sys.exit('RuntimeError: {LOST}')"
    left = run(program(tmp_path, TWO_RANKS.format(inside=inside)), tmp_path)
    assert left.stacks == 2, left.console()
    dumps = [json.loads(path.read_text()) for path in sorted(left.artifacts.glob("stacks/*.json"))]
    assert [dump["rank"] for dump in dumps] == [0, 1]
    frames = [frame for dump in dumps for frame in dump["snapshots"][-1][0]["frames"]]
    assert any("# here" in frame.get("source", "") for frame in frames)


@needs_spy
@pytest.mark.parametrize("end", ["", f"; sys.exit('RuntimeError: {LOST}')"], ids=["well", "of-an-error"])
def test_the_stacks_of_a_slow_moment_are_dropped(end: str, tmp_path: Path) -> None:
    """If the run goes on after a silence, nobody would have kept its stacks, however soon it ends of something else."""
    inside = f"print('step 2 loss 0.4', flush=True){end}"
    left = run(program(tmp_path, TWO_RANKS.format(inside=inside)), tmp_path)
    assert left.stacks == 0
    assert not (left.artifacts / "stacks").exists()


def test_a_fixed_run_is_not_looked_into(tmp_path: Path) -> None:
    """Nobody takes stacks of what works."""
    left = run(program(tmp_path, "import time\ntime.sleep(4)\nprint('error-free')"), tmp_path, fixed=True)
    assert left.succeeded
    assert left.stacks == 0


@pytest.mark.torchrun
def test_nodes_are_machines_of_their_own(tmp_path: Path) -> None:
    """Each node has its name, its network is set up first, and its logs are in a folder of its own."""
    from distkb.repro.nodes import unavailable

    if unavailable() is not None:
        pytest.skip("no namespaces")
    text = "import os, socket\nalias = open('/sys/class/net/eth0/ifalias').read()\n"
    text += "print('I am', socket.gethostname(), os.environ['RANK'], alias)\n"
    wanted = program(tmp_path, text, "launch: nodes\nnodes: 2\nnproc: 1")
    (wanted.directory / "network.sh").write_text('ip link set eth0 alias "$2$1"\n')
    left = run(wanted, tmp_path)
    assert left.exit_codes == (0, 0), left.console()
    for node in range(2):
        console = (left.artifacts / f"node{node}" / "console.log").read_text()
        assert f"I am node{node} {node}" in console
        assert f"broken{node}" in console
        assert len(list((left.artifacts / f"node{node}" / "ranks").rglob("stdout.log"))) == 1


def test_every_program_of_the_catalogue_is_found() -> None:
    """An entry that says how it is run has its program, or what was recorded."""
    for entry in built_in.catalogue().entries:
        assert entry.repro is None or find_program(entry, [KB]) is not None, entry.id
