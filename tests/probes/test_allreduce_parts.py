"""The smoke test's thinking: formulas, the place in an allocation, messages with one meaning, table and bars."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import built_in
import pytest

from distkb.locale import Language, Say
from distkb.report import bandwidth as writer
from distkb.report.layout import width
from distkb_probes.communication import bandwidth
from distkb_probes.communication.known import KNOWN, is_echo, known, port_of
from distkb_probes.communication.nodes import split
from distkb_probes.communication.plan import first_host, is_inside, plan, rank_environ
from distkb_probes.communication.watch import innermost

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("op", "world", "factor"),
    [
        ("all_reduce", 2, 1.0),
        ("all_reduce", 8, 1.75),
        ("all_gather", 8, 0.875),
        ("reduce_scatter", 4, 0.75),
        ("broadcast", 8, 1.0),
        ("all_reduce", 1, 0.0),
    ],
)
def test_bus_factors_are_those_of_nccl_tests(op: str, world: int, factor: float) -> None:
    """The factors of nccl-tests' PERFORMANCE.md."""
    assert bandwidth.bus_factor(op, world) == pytest.approx(factor)


def test_bandwidth_is_bytes_by_seconds_in_gigabytes() -> None:
    """1 GB in half a second is 2 GB/s, of which eight ranks of an all_reduce carry 3.5 on the bus."""
    assert bandwidth.bandwidth("all_reduce", 10**9, 0.5, 8) == pytest.approx((2.0, 3.5))


def test_sizes_go_from_one_element_to_the_largest() -> None:
    """Sizes ascend, are whole elements, and end at the limit."""
    assert list(bandwidth.sizes(4, 1 << 20)) == [4, 64, 1024, 16384, 65536, 1 << 18, 1 << 20]
    assert list(bandwidth.sizes(1 << 20, 1 << 24)) == [1 << 20, 1 << 22, 1 << 24]


def test_only_a_consistently_slow_rank_is_named() -> None:
    """One rank late in nearly every round is named; noise, small delays and a single bad round are not."""
    slow = bandwidth.slow_rank([[0.002, 0.02], [0.002, 0.03], [0.002, 0.02]])
    assert slow is not None
    assert slow[0] == 1
    assert slow[1] == pytest.approx(10.0)
    assert bandwidth.slow_rank([[0.002, 0.02], [0.02, 0.002], [0.002, 0.002]]) is None
    assert bandwidth.slow_rank([[0.0001, 0.001]] * 10) is None
    assert bandwidth.slow_rank([[0.02, 0.03]] * 10) is None
    assert bandwidth.slow_rank([[0.02]] * 10) is None
    assert bandwidth.slow_rank([]) is None


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("gpu03", "gpu03"), ("gpu[03-05,9],big1", "gpu03"), ("a1,a2", "a1"), ("n[7,9]-ib", "n7-ib"), ("", "")],
)
def test_the_first_host_of_a_slurm_list(nodes: str, first: str) -> None:
    """Ranges keep their leading zeros; what stands behind the bracket belongs to the name."""
    assert first_host(nodes) == first


def test_the_place_in_a_slurm_step_is_taken_from_its_variables() -> None:
    """In an srun step of several tasks each task is a rank, and all agree on address and port."""
    step = {
        "SLURM_PROCID": "3",
        "SLURM_LOCALID": "1",
        "SLURM_STEP_ID": "0",
        "SLURM_NTASKS": "4",
        "SLURM_JOB_ID": "123456",
        "SLURM_JOB_NODELIST": "node[1-2]",
    }
    assert is_inside(step)
    assert rank_environ(step) == {
        "RANK": "3",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "1",
        "MASTER_ADDR": "node1",
        "MASTER_PORT": "23456",
    }
    assert not is_inside({**step, "SLURM_NTASKS": "1"})
    assert not is_inside({"SLURM_JOB_ID": "1"})
    assert plan({}, step, 0).inside
    assert not plan({"nproc": 2}, step, 0).inside


def test_several_nodes_need_an_endpoint() -> None:
    """Without a meeting point several nodes are a wrong request."""
    with pytest.raises(ValueError, match="rdzv_endpoint"):
        plan({"nnodes": 2}, {}, 0)


def test_default_ranks_are_the_gpus_or_two() -> None:
    """One rank for each GPU; two on a machine without."""
    assert plan({}, {}, 8).nproc == 8
    assert plan({}, {}, 0).nproc == 2


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        (
            "The server socket has failed to listen on any local network address. port: 29500, name: EADDRINUSE",
            "allreduce.address-in-use",
        ),
        (
            "init.cc:941 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
            "allreduce.duplicate-gpu",
        ),
        (
            "topo.cc:1977 NCCL WARN Multiple ranks detected using the same GPU on this node. Set NCCL_MULTI_RANK_GPU_",
            "allreduce.duplicate-gpu",
        ),
        (
            "init.cc:1057 NCCL WARN Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1",
            "allreduce.duplicate-gpu",
        ),
        ("RuntimeError: CUDA error: invalid device ordinal", "allreduce.device-ordinal"),
        ("RuntimeError: ifa != nullptr. Unable to find address for: eth9", "allreduce.no-interface"),
        ("ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!", "allreduce.no-gpu"),
        (
            "DistNetworkError: The client socket has timed out after 9600ms while trying to connect to (node0, 29500).",
            "allreduce.unreachable",
        ),
        ("socket.gaierror: [Errno -2] Name or service not known", "allreduce.unresolvable"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB", "allreduce.gpu-full"),
    ],
)
def test_messages_with_one_meaning(line: str, identity: str) -> None:
    """A message that means one thing gets the finding that says it."""
    found = known(["Traceback (most recent call last):", line])
    assert found == (identity, line)


def test_echoes_and_other_errors_are_not_known() -> None:
    """Lost connections are echoes; an ordinary exception is neither echo nor known."""
    assert is_echo("RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:4711")
    assert not is_echo("ValueError: boom")
    assert known(["ValueError: boom"]) is None


def test_ports_are_read_from_messages_and_times_are_not() -> None:
    """The port of a message, in the forms in which torch prints it."""
    assert port_of(["[E1121 14:21:08] failed to listen. port: 29500, useIpv6: false"]) == "29500"
    assert port_of(["trying to connect to (node0, 29501)."]) == "29501"
    assert port_of(["failed to connect/validate to host 10.0.0.1:29502 - retrying"]) == "29502"
    assert port_of(["[W1121 14:21:08] nothing"]) == "?"


def test_endpoints_are_split_as_torchrun_does() -> None:
    """Host and port, with torchrun's default port; IPv6 in brackets."""
    assert split("node0:29400") == ("node0", 29400)
    assert split("node0") == ("node0", 29400)
    assert split("[fd00::1]:1234") == ("fd00::1", 1234)
    assert split("fd00::1") == ("fd00::1", 29400)


def test_the_innermost_frame_is_the_main_threads_past_wrappers() -> None:
    """Of a dump of all threads the main thread's innermost frame counts, without torch's logging wrapper."""
    dump = [
        "Thread 0x1 (most recent call first):",
        '  File "/usr/lib/python3.11/threading.py", line 331 in wait',
        "Current thread 0x2 (most recent call first):",
        '  File "/torch/distributed/c10d_logger.py", line 83 in wrapper',
        '  File "/torch/distributed/distributed_c10d.py", line 3252 in all_reduce',
    ]
    assert innermost(dump) == 'File "/torch/distributed/distributed_c10d.py", line 3252 in all_reduce'
    assert innermost([]) == ""


def _points() -> list[dict[str, Any]]:
    rows = [(4, 180.9), (65536, 536.4), (1 << 20, 863.0), (64 << 20, 2_400_000.0)]
    points = []
    for size, time_us in rows:
        for op in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
            if op != "all_reduce" and size == 4:
                continue
            algorithm, bus = bandwidth.bandwidth(op, size, time_us / 1e6, 4)
            points.append({"bytes": size, "op": op, "time_us": time_us, "algbw_gbs": algorithm, "busbw_gbs": bus})
    return points


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_table_and_bars_are_as_recorded(lang: Language) -> None:
    """The measured figures as a table and bars of at most 80 columns, in both languages."""
    facts = {"sizes": _points(), "world_size": 4, "hosts": ["a"], "backend": "gloo"}
    page = writer.write(facts, Say(lang))
    assert all(width(line) <= 80 for line in page.splitlines())
    path = GOLDEN / f"bandwidth.{lang}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(page, encoding="utf-8")
    assert page == path.read_text(encoding="utf-8")


def test_nothing_measured_and_damaged_facts_give_no_table() -> None:
    """Facts come from another process: without figures, or with wrong ones, there is no table."""
    assert writer.write({}, Say("en")) == ""
    assert writer.write({"sizes": [{"bytes": "x"}]}, Say("en")) == ""
    assert "|" not in writer.write({"sizes": [{**_points()[0], "busbw_gbs": 0.0}]}, Say("en"))


def test_one_rank_has_no_bandwidth() -> None:
    """A single rank's collectives send nothing: their times give no table of GB/s."""
    assert writer.write({"sizes": _points(), "world_size": 1}, Say("en")) == ""


def test_every_finding_of_the_probe_has_a_record_whose_values_are_supplied() -> None:
    """Ids in the code are records of the catalogue."""
    import re

    records = {finding.id for finding in built_in.catalogue().findings}
    source = Path(bandwidth.__file__).parents[1]
    named = {
        identity
        for path in (
            source / "communication" / "verdict.py",
            source / "allreduce.py",
            source / "communication" / "known.py",
        )
        for identity in re.findall(r'"(allreduce\.(?!py)[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    assert {identity for identity, _ in KNOWN} <= named
    assert named <= records
    assert {identity for identity in records if identity.startswith("allreduce.")} <= named
