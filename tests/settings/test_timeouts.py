"""Which timers run, for how long, and which one the log shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distkb.catalogue.model import Catalogue
from distkb.evidence.observation import Observation, Quote
from distkb.settings.timeouts import TimerReading, explain, seconds_of, to_builtins

EVERYTHING = ("accelerate", "transformers", "deepspeed", "lightning")
NEW = {
    "torch": "2.13.0+cu128",
    "nccl": "2.28.9",
    "accelerate": "1.15.0",
    "transformers": "5.23.0",
    "deepspeed": "0.19.8",
    "lightning": "2.6.6",
}


def read(catalogue: Catalogue, environment: Mapping[str, str] | None = None, **given: Any) -> dict[str, TimerReading]:
    """Explain the timers of an environment; torch 2.13 on nccl unless told otherwise."""
    options: dict[str, Any] = {"versions": NEW, "backend": "nccl", "launcher": "torchrun", "frameworks": EVERYTHING}
    options.update(given)
    readings = explain(catalogue.timers, catalogue.settings, environment or {}, **options)
    return {reading.timer.id: reading for reading in readings}


def timed_out(milliseconds: int) -> Observation:
    """The watchdog's line of a collective that timed out."""
    text = f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)={milliseconds})"
    return Observation(
        id="torch.nccl.watchdog-timeout",
        source="log",
        values={"timeout_ms": str(milliseconds)},
        quotes=(Quote(text=text, path="rank1.log", line=12),),
    )


@pytest.mark.parametrize(
    ("timer", "versions", "seconds"),
    [
        ("torch.pg.nccl", {"torch": "2.1.2"}, 1800),
        ("torch.pg.nccl", {"torch": "2.2.0"}, 600),
        ("torch.pg.nccl", {"torch": "2.15.0a0+git1"}, 600),
        ("torch.store.connect", {"torch": "2.1.2"}, 1800),
        ("torch.store.connect", {"torch": "2.13.0"}, 600),
        ("torch.nccl.heartbeat", {"torch": "2.4.1"}, 600),
        ("torch.nccl.heartbeat", {"torch": "2.5.1"}, 480),
        ("torch.nccl.dump-wait", {"torch": "2.7.1"}, 60),
        ("torch.nccl.dump-wait", {"torch": "2.8.0"}, 15),
        ("torchrun.monitor-interval", {"torch": "2.2.2"}, 5),
        ("torchrun.monitor-interval", {"torch": "2.13.0"}, 0.1),
        ("deepspeed.process-group", {"deepspeed": "0.19.5"}, 1800),
        ("deepspeed.process-group", {"deepspeed": "0.19.6"}, 600),
        ("accelerate.process-group", {"accelerate": "1.15.0"}, 600),
        ("transformers.trainer", {"transformers": "5.23.0"}, 1800),
        ("lightning.strategy", {"lightning": "2.6.6"}, 1800),
        ("nccl.ib-retry", {"nccl": "2.21.5"}, 8.6),
        ("nccl.ib-retry", {"nccl": "2.28.9"}, 34.4),
        ("torch.rendezvous.join", {"torch": "2.13.0"}, 600),
        ("torchrun.exit-barrier", {"torch": "2.13.0"}, 300),
        ("dataloader.worker", {"torch": "2.13.0"}, 0),
    ],
)
def test_defaults_follow_the_version(
    catalogue: Catalogue, timer: str, versions: dict[str, str], seconds: float
) -> None:
    """Where nothing is set each timer has the default of the installed version."""
    reading = read(catalogue, versions=versions)[timer]
    assert (reading.seconds, reading.source, reading.assumed) == (seconds, "default", False)


def test_the_default_of_this_torch_is_its_own(catalogue: Catalogue) -> None:
    """The catalogue's defaults are those of the torch that is installed here, asked in a process of its own."""
    import subprocess
    import sys

    program = (
        "import torch, json;"
        "from torch.distributed.constants import default_pg_timeout;"
        "from torch.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousTimeout as R;"
        "from torch.distributed.distributed_c10d import _get_default_timeout as d;"
        "from torch.distributed import TCPStore;"
        "store = TCPStore('127.0.0.1', 0, is_master=True, wait_for_workers=False);"
        "r = R();"
        "print(json.dumps([torch.__version__, default_pg_timeout.total_seconds(), d('gloo').total_seconds(),"
        "r.join.total_seconds(), r.last_call.total_seconds(), r.heartbeat.total_seconds(),"
        "store.timeout.total_seconds()]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip("no torch here")
    version, other, gloo, join, last_call, beat, store = json.loads(done.stdout.strip().splitlines()[-1])
    found = read(catalogue, versions={"torch": version}, backend="gloo")
    assert other == gloo == found["torch.pg.gloo"].seconds
    assert join == found["torch.rendezvous.join"].seconds
    assert last_call == found["torch.rendezvous.last-call"].seconds
    assert beat == found["torch.rendezvous.keep-alive"].seconds
    assert store == found["torch.store.default"].seconds


def test_an_unknown_version_is_assumed_to_be_the_newest(catalogue: Catalogue) -> None:
    """Without a version the newest default is given and marked as assumed."""
    reading = read(catalogue, versions={})["torch.pg.nccl"]
    assert (reading.seconds, reading.assumed) == (600, True)


def test_an_unknown_backend_leaves_open_what_depends_on_it(catalogue: Catalogue) -> None:
    """The store's time differs by backend: without one it is not known."""
    reading = read(catalogue, backend=None)["torch.store.connect"]
    assert (reading.seconds, reading.source) == (None, "unknown")


@pytest.mark.parametrize(
    ("environment", "timer", "seconds"),
    [
        ({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "900"}, "torch.nccl.heartbeat", 900),
        ({"DEEPSPEED_TIMEOUT": "60"}, "deepspeed.process-group", 3600),
        ({"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "30000"}, "torch.nccl.dump-wait", 30),
        ({"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "120"}, "torchrun.shutdown", 120),
        ({"PET_SHUTDOWN_TIMEOUT": "90", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "120"}, "torchrun.shutdown", 90),
        ({"PET_RDZV_CONF": "read_timeout=5,join_timeout=1200"}, "torch.rendezvous.join", 1200),
        ({"NCCL_IB_TIMEOUT": "22"}, "nccl.ib-retry", 137.439),
    ],
)
def test_what_is_set_moves_its_timer(
    catalogue: Catalogue, environment: dict[str, str], timer: str, seconds: float
) -> None:
    """A knob counts in its own unit, and the first of several wins."""
    reading = read(catalogue, environment)[timer]
    assert reading.source == "knob"
    assert reading.seconds == pytest.approx(seconds, rel=1e-4)


def test_a_knob_that_this_version_does_not_read_moves_nothing(catalogue: Catalogue) -> None:
    """TORCH_ELASTIC_SHUTDOWN_TIMEOUT came with torch 2.12: before, it is a name without effect."""
    reading = read(catalogue, {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "120"}, versions={"torch": "2.9.1"})[
        "torchrun.shutdown"
    ]
    assert (reading.seconds, reading.source) == (30, "default")
    assert reading.ineffective == ("TORCH_ELASTIC_SHUTDOWN_TIMEOUT",)


def test_names_without_effect_are_listed(catalogue: Catalogue) -> None:
    """NCCL_TIMEOUT and NCCL_IB_TIMEOUT do not move the process group's timer, and it says so."""
    reading = read(catalogue, {"NCCL_TIMEOUT": "3600", "NCCL_IB_TIMEOUT": "23"})["torch.pg.nccl"]
    assert (reading.seconds, set(reading.ineffective)) == (600, {"NCCL_TIMEOUT", "NCCL_IB_TIMEOUT"})


def test_a_value_that_is_no_number_is_not_guessed(catalogue: Catalogue) -> None:
    """What cannot be read as a time leaves the timer open."""
    reading = read(catalogue, {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "ten"})["torch.nccl.heartbeat"]
    assert (reading.seconds, reading.source, reading.value) == (None, "unknown", "ten")


def test_timers_that_cannot_matter_are_left_out(catalogue: Catalogue) -> None:
    """Neither another backend's timers nor those of frameworks and launchers that are not there."""
    found = read(catalogue, backend="gloo", launcher="slurm", frameworks=())
    assert "torch.pg.nccl" not in found
    assert "accelerate.process-group" not in found
    assert "torch.rendezvous.join" not in found
    assert {"torch.pg.gloo", "slurm.kill-wait"} <= set(found)
    both = read(catalogue, {"SLURM_JOB_ID": "1"}, backend="cpu:gloo,cuda:nccl")
    assert {"torch.pg.nccl", "torch.pg.gloo", "slurm.kill-wait", "torchrun.shutdown"} <= set(both)


def test_the_heartbeat_belongs_to_the_older_nccl_backend(catalogue: Catalogue) -> None:
    """From torch 2.15 on `nccl` has no heartbeat monitor, unless the older backend is chosen."""
    newest = {"torch": "2.15.0"}
    assert "torch.nccl.heartbeat" not in read(catalogue, versions=newest)
    assert "torch.nccl.heartbeat" in read(catalogue, {"TORCH_DIST_USE_NCCL2": "0"}, versions=newest)
    assert "torch.nccl.heartbeat" in read(catalogue, versions=newest, backend="nccl-legacy")
    assert "torch.pg.nccl" in read(catalogue, versions=newest, backend="cuda:nccl-legacy")


def test_slurm_is_not_assumed(catalogue: Catalogue) -> None:
    """Without any sign of a launcher torchrun's timers are shown and Slurm's are not."""
    found = read(catalogue, launcher=None)
    assert "torchrun.shutdown" in found
    assert "slurm.kill-wait" not in found
    assert not read(catalogue, {"SLURM_JOB_ID": "1"})["slurm.kill-wait"].assumed


def test_the_log_says_which_timer_ran_out(catalogue: Catalogue) -> None:
    """A time that only one timer has here is that timer's."""
    arguments = {"python.init_process_group.timeout": "7200"}
    found = read(catalogue, frameworks=(), observations=[timed_out(7_200_000)], arguments=arguments)
    fired = found["torch.pg.nccl"].fired
    assert fired is not None
    assert (fired.seconds, fired.origin, fired.missed) == (7200, "this", ())
    assert found["torch.pg.new-group.nccl"].fired is None


def test_a_timeout_that_did_not_reach_its_group_is_named(catalogue: Catalogue) -> None:
    """The log's 600 s is a later group's default: what was passed to init_process_group did not reach it."""
    arguments = {"python.init_process_group.timeout": "7200"}
    found = read(catalogue, frameworks=(), observations=[timed_out(600_000)], arguments=arguments)
    fired = found["torch.pg.new-group.nccl"].fired
    assert fired is not None
    assert fired.origin == "this"
    assert fired.missed == ("init_process_group(timeout=...)",)
    assert found["torch.pg.nccl"].fired is None
    assert "init_process_group(timeout=...)" in found["torch.pg.new-group.nccl"].ineffective


def test_a_time_that_several_timers_have_is_shared(catalogue: Catalogue) -> None:
    """600 s is the default of the default group and of later ones: either may have run out."""
    found = read(catalogue, frameworks=(), observations=[timed_out(600_000)])
    fired = found["torch.pg.nccl"].fired
    assert fired is not None
    assert (fired.origin, fired.same) == ("shared", ("torch.pg.new-group.nccl",))


def test_thirty_minutes_on_nccl_points_to_a_framework(catalogue: Catalogue) -> None:
    """1800 s is not torch's default for nccl any more, but the Trainer's, Lightning's, and that without a backend."""
    found = read(catalogue, observations=[timed_out(1_800_000)])
    assert {identity for identity, reading in found.items() if reading.fired} == {
        "transformers.trainer",
        "lightning.strategy",
        "torch.pg.no-backend",
    }


def test_a_time_of_no_timer_comes_from_the_code(catalogue: Catalogue) -> None:
    """An odd time belongs to no default: it was passed in the script."""
    found = read(catalogue, observations=[timed_out(123_000)])
    [(identity, fired)] = [(identity, reading.fired) for identity, reading in found.items() if reading.fired]
    assert (identity, fired.origin, fired.seconds) == ("torch.pg.nccl", "other", 123)


def test_a_line_without_a_time_still_shows_the_timer(catalogue: Catalogue) -> None:
    """A rendezvous that timed out is known by its error alone."""
    seen = Observation(id="torch.rendezvous.timeout", source="log", quotes=(Quote(text="RendezvousTimeoutError"),))
    fired = read(catalogue, observations=[seen])["torch.rendezvous.join"].fired
    assert fired is not None
    assert (fired.origin, fired.seconds) == ("unsaid", None)


def test_what_was_looked_for_and_is_absent_fires_nothing(catalogue: Catalogue) -> None:
    """An observation of absence is no firing."""
    seen = Observation(id="torch.nccl.watchdog-timeout", source="log", present=False)
    assert not any(reading.fired for reading in read(catalogue, observations=[seen]).values())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress", 480),
        ("Timed out after 901 seconds waiting for clients. 1/2 clients joined.", 901),
        ("wait timeout after 300000ms, keys: /default_pg/0//cpu//0/1", 300),
        ("The client socket has timed out after 60s while trying to connect to (a, 1)", 60),
        ("timeout after 99999999999999999999ms", None),
        ("nothing of the kind", None),
    ],
)
def test_times_are_read_from_the_line(text: str, seconds: float | None) -> None:
    """Where a signature captures no time the line itself may say it."""
    assert seconds_of(Observation(id="x.y", source="log", quotes=(Quote(text=text),))) == seconds


def test_plain_data_holds_what_the_reader_needs(catalogue: Catalogue) -> None:
    """The JSON form has the time, what decides, the knobs, the names without effect, and what fired."""
    readings = read(catalogue, {"NCCL_TIMEOUT": "9"}, frameworks=(), observations=[timed_out(600_000)]).values()
    data = json.loads(json.dumps(to_builtins(readings)))
    group = next(item for item in data if item["id"] == "torch.pg.nccl")
    assert group["seconds"] == 600
    assert group["knobs"] == ["python.init_process_group.timeout"]
    assert group["ineffective"] == ["NCCL_TIMEOUT"]
    assert group["fired"]["path"] == "rank1.log"
    assert set(group["title"]) == {"en", "ko"}


@settings(max_examples=60)
@given(
    environment=st.dictionaries(
        st.sampled_from(
            [
                "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
                "DEEPSPEED_TIMEOUT",
                "NCCL_IB_TIMEOUT",
                "PET_RDZV_CONF",
                "NCCL_TIMEOUT",
            ]
        ),
        st.one_of(st.text(max_size=20), st.integers(-(10**20), 10**20).map(str)),
    ),
    versions=st.dictionaries(st.sampled_from(sorted(NEW)), st.one_of(st.none(), st.text(max_size=8)), max_size=3),
    backend=st.sampled_from([None, "nccl", "gloo", "cpu:gloo,cuda:nccl", "mpi", ""]),
    line=st.text(max_size=80),
)
def test_nothing_breaks_the_explainer(
    catalogue: Catalogue, environment: dict[str, str], versions: dict[str, Any], backend: str | None, line: str
) -> None:
    """Whatever is set, installed and logged, every timer has an answer that JSON can hold."""
    seen = [Observation(id="torch.nccl.watchdog-timeout", source="log", quotes=(Quote(text=line),))]
    found = read(catalogue, environment, versions=versions, backend=backend, observations=seen)
    json.dumps(to_builtins(found.values()))
