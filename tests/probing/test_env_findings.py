from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from env_facts import BY_HAND, SHM, TORCHRUN, facts, gpus, holder, live, port, rank, resolved
from hypothesis import given, settings
from hypothesis import strategies as st

from distkb.locale import fill
from distkb.probing.env import judge


def without(environment: dict[str, str], *names: str) -> dict[str, str]:
    """Return an environment that lacks some names."""
    return {name: value for name, value in environment.items() if name not in names}


SECOND = {**TORCHRUN, "RANK": "1", "LOCAL_RANK": "1"}
THIRD = {**TORCHRUN, "RANK": "2", "LOCAL_RANK": "2"}
HAND_1 = {**BY_HAND, "RANK": "1", "LOCAL_RANK": "1"}
TWO_NODES = {**TORCHRUN, "WORLD_SIZE": "4", "GROUP_WORLD_SIZE": "2"}
DEEPSPEED = {
    **without(BY_HAND, "LOCAL_WORLD_SIZE"),
    "WORLD_SIZE": "4",
    "LOCAL_SIZE": "2",
    "CROSS_SIZE": "2",
    "CROSS_RANK": "0",
    "MASTER_ADDR": "10.0.0.5",
}
LIGHTNING = {**without(BY_HAND, "RANK", "LOCAL_WORLD_SIZE"), "LOCAL_RANK": "1", "NODE_RANK": "0"}
CUDA = {"state": "ok", "seconds": 2.0, "version": "2.13.0+cu128", "cuda": "12.8", "devices": 4, "available": True}
WITH_GPUS: dict[str, Any] = {"gpus": gpus(4), "gpu_source": {"source": "nvidia-smi", "stuck": False}, "torch": CUDA}
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def three(**odd: str) -> dict[str, Any]:
    """Three ranks, the last of which differs."""
    world = {"WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3"}
    return live({**TORCHRUN, **world}, {**SECOND, **world}, {**THIRD, **world, **odd})


def three_with(address: str) -> dict[str, Any]:
    """Three ranks, two of which look for the master under `address`."""
    world = {"WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3"}
    most = {**world, "MASTER_ADDR": address}
    return live({**TORCHRUN, **most}, {**SECOND, **most}, {**THIRD, **world})


def with_details(**details: Any) -> dict[str, Any]:
    """Two ranks, the second of which differs in what /proc tells of it."""
    found = live(TORCHRUN, SECOND)
    return {**found, "processes": [rank(100, TORCHRUN), rank(101, SECOND, **details)]}


def slurm(environment: dict[str, str], **more: str) -> dict[str, str]:
    """Add what Slurm sets."""
    return {**environment, "SLURM_NTASKS": "4", "SLURM_JOB_NAME": "train", **more}


CASES: list[tuple[str, dict[str, Any]]] = [
    ("env.contract-partial", facts(without(BY_HAND, "MASTER_ADDR"))),
    ("env.contract-empty", facts({**BY_HAND, "MASTER_ADDR": ""})),
    ("env.contract-placeholder", facts({**BY_HAND, "MASTER_ADDR": "<head-node-ip>"})),
    ("env.contract-placeholder", facts({"MASTER_ADDR": "${HEAD_IP}"})),
    ("env.contract-not-integer", facts({**BY_HAND, "WORLD_SIZE": "2x"})),
    ("env.master-port-service-link", facts({**BY_HAND, "MASTER_PORT": "tcp://10.96.0.7:29500"}, port=port(None))),
    ("env.rank-out-of-range", facts({**BY_HAND, "RANK": "2"})),
    ("env.local-rank-out-of-range", facts({**BY_HAND, "WORLD_SIZE": "8", "LOCAL_RANK": "2"})),
    ("env.local-world-larger", facts({**BY_HAND, "LOCAL_WORLD_SIZE": "4"})),
    ("env.local-rank-missing", facts(without(BY_HAND, "LOCAL_RANK", "LOCAL_WORLD_SIZE"))),
    ("env.rank-unset", facts({"WORLD_SIZE": "8"})),
    ("env.process-unreadable", facts({}, unreadable=[{"pid": 7, "user": "lee", "command": "python t.py"}])),
    ("env.process-stopped", with_details(state="T")),
    ("env.process-dead", with_details(state="Z")),
    ("env.process-in-kernel", with_details(state="D", waits_in_kernel=True)),
    ("env.process-in-file-call", with_details(state="D", waits_in_kernel=True, waits_for_file=True)),
    ("env.launch-no-rank", live({}, {})),
    ("env.launch-rank-duplicate", live(TORCHRUN, SECOND, SECOND)),
    ("env.launch-rank-missing", live(TORCHRUN)),
    ("env.launch-rank-missing", live({**TWO_NODES, "RANK": "2"})),
    ("env.launch-rank-missing", live(DEEPSPEED)),
    ("env.launch-world-size-differs", three(WORLD_SIZE="4")),
    ("env.launch-master-differs", three(MASTER_PORT="29501")),
    ("env.launch-variable-differs", three(NCCL_P2P_DISABLE="1")),
    ("env.launch-debug-differs", three(TORCH_DISTRIBUTED_DEBUG="DETAIL")),
    ("env.launch-python-differs", with_details(exe="/opt/conda/bin/python3.12")),
    ("env.launch-torch-differs", with_details(torch="2.9.1")),
    ("env.launch-nccl-differs", with_details(nccl_path="/usr/lib/libnccl.so.2")),
    ("env.launch-directory-differs", with_details(cwd="/home/lee")),
    ("env.launch-script-differs", with_details(command="python -u evaluate.py --fast")),
    ("env.master-port-invalid", facts({"MASTER_PORT": "129500"}, port=port(129500, source="MASTER_PORT", listen=None))),
    ("env.master-port-denied", facts({"MASTER_PORT": "80"}, port=port(80, source="MASTER_PORT", listen="denied"))),
    ("env.master-port-ephemeral", facts({"MASTER_PORT": "40000"}, port=port(40000, source="MASTER_PORT"))),
    ("env.master-port-taken", facts({"MASTER_PORT": "29500"}, port=port(29500, holder(), source="MASTER_PORT"))),
    ("env.master-port-leftover", facts({}, port=port(29500, holder(rank="0", parent=1)))),
    (
        "env.master-port-taken-unseen",
        facts({"MASTER_PORT": "29500"}, port=port(29500, holder(None), source="MASTER_PORT")),
    ),
    ("env.master-port-closing", facts({}, port=port(29500, listen="taken", closing=True))),
    ("env.master-port-outgoing", facts({}, port=port(29500, holder(state="connected")))),
    ("env.default-port-taken", facts({}, port=port(29500, holder()))),
    ("env.default-port-taken-unseen", facts({}, port=port(29500, holder(None)))),
    ("env.default-port-taken-unseen", facts({}, port=port(29500, listen="taken"))),
    ("env.default-port-busy", facts({}, port=port(29500, holder(launch=True)))),
    ("env.live-port-foreign", live(TORCHRUN, SECOND, port=port(29500, holder(), live=True))),
    ("env.live-store-not-listening", live(TORCHRUN, SECOND, port=port(29500, live=True))),
    ("env.hostname-unresolvable", facts({}, names__hostname=resolved("node0"))),
    ("env.hostname-loopback", facts(TWO_NODES, names__hostname=resolved("node0", "127.0.1.1"))),
    ("env.resolver-slow", facts({}, names__hostname=resolved("node0", "10.0.0.5", seconds=4.0))),
    ("env.master-addr-not-a-name", facts({"MASTER_ADDR": "tcp://node1:29500"})),
    ("env.master-addr-not-a-name", facts({"MASTER_ADDR": "'node1'"})),
    ("env.master-addr-unresolvable", facts({"MASTER_ADDR": "nodex"}, names__master=resolved("nodex"))),
    (
        "env.master-addr-loopback",
        facts({**TWO_NODES, "MASTER_ADDR": "node0"}, names__master=resolved("node0", "127.0.1.1")),
    ),
    (
        "env.master-addr-elsewhere",
        facts({**BY_HAND, "MASTER_ADDR": "node1"}, names__master=resolved("node1", "10.0.0.9")),
    ),
    (
        "env.master-addr-ipv6",
        facts({"MASTER_ADDR": "node6"}, names__master=resolved("node6", "2001:db8::1"), port__ipv6="unavailable"),
    ),
    ("env.nccl-interface-none", facts({"NCCL_SOCKET_IFNAME": "ib0"})),
    ("env.nccl-interface-none", facts({"NCCL_SOCKET_IFNAME": "^lo,eth"})),
    (
        "env.nccl-interface-none",
        facts({}, nccl_files=[{"name": "NCCL_SOCKET_IFNAME", "value": "ib0", "path": "/etc/nccl.conf", "line": 3}]),
    ),
    ("env.nccl-interface-down", facts({"NCCL_SOCKET_IFNAME": "eth1"})),
    ("env.nccl-interface-loopback", facts({**TWO_NODES, "NCCL_SOCKET_IFNAME": "lo"})),
    ("env.gloo-interface-missing", facts({"GLOO_SOCKET_IFNAME": "eth"})),
    ("env.gloo-interface-missing", facts({"GLOO_SOCKET_IFNAME": "^lo"})),
    ("env.visible-devices-empty", facts({"CUDA_VISIBLE_DEVICES": ""}, **WITH_GPUS)),
    ("env.visible-devices-empty", facts({"CUDA_VISIBLE_DEVICES": "-1"}, **WITH_GPUS)),
    ("env.visible-devices-repeated", facts({"CUDA_VISIBLE_DEVICES": "0,1,1"}, **WITH_GPUS)),
    ("env.visible-devices-unknown", facts({"CUDA_VISIBLE_DEVICES": "0,7"}, **WITH_GPUS)),
    ("env.visible-devices-no-gpu", facts({"CUDA_VISIBLE_DEVICES": "0"}, torch={**CUDA, "devices": 0})),
    ("env.fewer-gpus-than-ranks", facts({**TORCHRUN, "LOCAL_WORLD_SIZE": "8", "WORLD_SIZE": "8"}, **WITH_GPUS)),
    ("env.fewer-gpus-than-ranks", facts({}, request__nproc=8, **WITH_GPUS)),
    (
        "env.ranks-share-gpu",
        live({**BY_HAND, "CUDA_VISIBLE_DEVICES": "1"}, {**HAND_1, "CUDA_VISIBLE_DEVICES": "0,1"}, **WITH_GPUS),
    ),
    (
        "env.one-gpu-per-rank",
        live({**BY_HAND, "CUDA_VISIBLE_DEVICES": "0"}, {**HAND_1, "CUDA_VISIBLE_DEVICES": "1"}, **WITH_GPUS),
    ),
    ("env.one-gpu-per-rank", facts({**BY_HAND, "CUDA_VISIBLE_DEVICES": "0"}, **WITH_GPUS)),
    ("env.gpu-order", facts({"CUDA_VISIBLE_DEVICES": "0"}, **{**WITH_GPUS, "gpus": gpus(2, "A100", "T4")})),
    ("env.nvidia-smi-stuck", facts({}, gpu_source={"source": "proc", "stuck": True})),
    (
        "env.torchrun-per-task",
        facts(slurm(TORCHRUN, SLURM_STEP_NUM_TASKS="8", SLURM_STEP_NUM_NODES="1")),
    ),
    ("env.slurm-world-differs", facts(slurm(BY_HAND, SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="4"))),
    ("env.slurm-rank-differs", facts(slurm(BY_HAND, SLURM_PROCID="1", SLURM_STEP_NUM_TASKS="2"))),
    (
        "env.slurm-shell-lightning",
        facts(slurm({}, SLURM_PTY_PORT="40100", SLURM_JOB_NAME="zsh"), versions__lightning="2.6.6"),
    ),
    ("env.mpi-world-differs", facts({**BY_HAND, "OMPI_COMM_WORLD_SIZE": "4"})),
    ("env.mpi-leftover", facts({"PMI_SIZE": "4", "SLURM_PTY_PORT": "40100"}, versions__deepspeed="0.19.8")),
    (
        "env.deepspeed-cloud",
        facts({**without(BY_HAND, "LOCAL_RANK"), "AZUREML_EXPERIMENT_ID": "1"}, versions__deepspeed="0.19.8"),
    ),
    ("env.torchrun-options", facts({"PET_NNODES": "2"})),
    ("env.shm-small", facts({}, machine__shm={"path": SHM, "size": 64 * MIB, "free": 64 * MIB})),
    ("env.shm-full", facts({}, machine__shm={"path": SHM, "size": GIB, "free": MIB, "leftovers": 9})),
    ("env.open-files-low", facts({}, machine__limits__nofile=[256, 4096])),
    ("env.open-files-low", facts({**TORCHRUN, "WORLD_SIZE": "256"}, machine__limits__nofile=[1024, None])),
    ("env.processes-low", facts({}, machine__limits__nproc=[100, 100])),
    ("env.locked-memory-low", facts({}, machine__infiniband=["mlx5_0"], machine__limits__memlock=[64 * KIB, 64 * KIB])),
    ("env.pids-nearly-full", facts({}, machine__pids={"limit": 1000, "used": 990})),
    ("env.oom-kills", facts({}, machine__memory={"oom_kills": 2})),
    ("env.memory-nearly-full", facts({}, machine__memory={"limit": 8 * GIB, "used": 8 * GIB, "oom_kills": 0})),
    ("env.cores-restricted", facts(TORCHRUN, machine__cores={"machine": 16, "allowed": 1, "quota": None})),
    ("env.threads-oversubscribed", facts({**TORCHRUN, "OMP_NUM_THREADS": "16"})),
    ("env.threads-unset", facts(without(BY_HAND, "OMP_NUM_THREADS"))),
    ("env.torch-missing", facts({}, torch={"state": "missing"})),
    (
        "env.torch-broken",
        facts({}, torch={"state": "broken", "error": "ImportError: libcudart.so.12: …", "seconds": 1.0}),
    ),
    ("env.torch-slow", facts({}, torch={"state": "slow", "seconds": 25.0})),
    ("env.torch-cpu-build", facts({}, gpus=gpus(4), gpu_source={"source": "nvidia-smi"})),
    (
        "env.torch-cpu-build",
        live(TORCHRUN, SECOND, **{**WITH_GPUS, "torch": {"state": "live", "version": "2.13.0+cpu", "cuda": None}}),
    ),
    ("env.cuda-unavailable", facts({}, **{**WITH_GPUS, "torch": {**CUDA, "devices": 0, "available": False}})),
]

QUIET: dict[str, dict[str, Any]] = {
    "a login shell": facts({}),
    "a rank of torchrun": facts(TORCHRUN, port=port(29500, holder(ours=True), source="MASTER_PORT")),
    "a rank of torchrun on two machines": facts(TWO_NODES, names__master=resolved("node0", "10.0.0.5")),
    "rank 1 of a launch by hand": facts(HAND_1, port=port(29500, holder(rank="0"), source="MASTER_PORT")),
    "a running launch": live(TORCHRUN, SECOND),
    "a batch script that names the master": facts({"MASTER_ADDR": "10.0.0.5", "MASTER_PORT": "29500"}),
    "a batch script of Slurm": facts(slurm({}, SLURM_PROCID="0", SLURM_NNODES="4", MASTER_ADDR="10.0.0.5")),
    "srun with a contract of its own": facts(slurm(BY_HAND, SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="2")),
    "torchrun in one task a node": facts(slurm(TWO_NODES, SLURM_STEP_NUM_TASKS="2", SLURM_STEP_NUM_NODES="2")),
    "an interactive Slurm shell": facts(
        slurm({}, SLURM_PTY_PORT="40100", SLURM_JOB_NAME="interactive"), versions__lightning="2.6.6"
    ),
    "a pod of Kubeflow": facts(
        {"PET_NNODES": "2", "KUBERNETES_SERVICE_HOST": "10.1.1.1"}, host__container="kubernetes"
    ),
    "a pod that an operator gave a rank": facts(
        without(BY_HAND, "LOCAL_RANK", "LOCAL_WORLD_SIZE"), host__container="kubernetes"
    ),
    "a master pod whose address is localhost": facts(
        {**TWO_NODES, "MASTER_ADDR": "localhost"},
        host__container="kubernetes",
        names__master=resolved("localhost", "127.0.0.1"),
    ),
    "a running launch on GPUs": live(
        TORCHRUN, SECOND, **{**WITH_GPUS, "torch": {"state": "live", "version": "2.13.0+cu128", "cuda": "12.8"}}
    ),
    "a running launch that has not loaded torch yet": live(
        TORCHRUN, SECOND, **{**WITH_GPUS, "torch": {"state": "live"}}
    ),
    "a machine with its GPUs": facts({}, **WITH_GPUS),
    "a CPU job on purpose": facts({"CUDA_VISIBLE_DEVICES": "", "ACCELERATE_USE_CPU": "true"}, **WITH_GPUS),
    "one machine, own name on the loopback": facts(TORCHRUN, names__hostname=resolved("vm", "127.0.1.1")),
    "two machines of the deepspeed launcher": live(DEEPSPEED, {**DEEPSPEED, "RANK": "1", "LOCAL_RANK": "1"}),
    "a launch of unknown extent": live({**without(BY_HAND, "LOCAL_WORLD_SIZE"), "MASTER_ADDR": "10.0.0.5"}),
    "Lightning's own launcher": live({}, LIGHTNING),
    "a rank of Lightning's own launcher": facts(LIGHTNING),
    "logging that differs": three(NCCL_DEBUG="INFO", TORCH_DISTRIBUTED_DEBUG="INFO"),
    "a forking launcher": {
        **(spawned := live({}, {})),
        "processes": [
            {**p, "command": "python -c 'from multiprocessing.spawn import …'"} for p in spawned["processes"]
        ],
    },
    "interfaces that are there": facts({"NCCL_SOCKET_IFNAME": "=eth0", "GLOO_SOCKET_IFNAME": "eth0,lo"}),
    "an interface list made for several kinds of nodes": facts({"NCCL_SOCKET_IFNAME": "ens,eth0"}),
}


@pytest.fixture(scope="module")
def records() -> dict[str, dict[str, Any]]:
    """Return the records of the catalogue by id."""
    import yaml

    path = Path(__file__).parents[2] / "kb" / "observations" / "probe-env.yaml"
    return {record["id"]: record for record in yaml.safe_load(path.read_text(encoding="utf-8"))["findings"]}


@pytest.mark.parametrize(("identity", "seen"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)])
def test_each_finding_is_made_with_evidence_and_fills_its_texts(
    identity: str, seen: dict[str, Any], records: dict[str, dict[str, Any]]
) -> None:
    """What is wrong is found, points to where it shows, is not called clear, and supplies every value of its texts."""
    found, clear = judge(seen)
    observation = next(o for o in found if o.id == identity)
    assert identity not in clear
    assert observation.quotes or identity == "env.default-port-taken-unseen"
    record = records[identity]
    for template in (*record["says"].values(), *record["fix"].values(), *record.get("commands", ())):
        assert not re.search(r"\{[a-z_]+\}", fill(template, observation.values))


def test_every_record_is_found_somewhere(records: dict[str, dict[str, Any]]) -> None:
    """No record is dead, and nothing is found without a record."""
    of_several_tasks = {"env.tasks-same-rank"}  # test_step_tasks.py
    assert {identity for identity, _ in CASES} | of_several_tasks == set(records)
    for _, seen in CASES:
        assert {observation.id for observation in judge(seen)[0]} <= set(records)


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_where_nothing_is_wrong(name: str) -> None:
    """What is usual on healthy machines gives no finding at all."""
    found, clear = judge(QUIET[name])
    assert [(observation.id, observation.values) for observation in found] == []
    assert "env.oom-kills" in clear


@pytest.mark.parametrize(
    "seen", [{}, {"environment": None}, {"processes": [1, {"pid": "x"}]}, {"port": [], "gpus": {}}]
)
def test_facts_that_are_missing_or_odd_are_not_judged(seen: dict[str, Any]) -> None:
    """The judgement of incomplete or malformed facts says nothing and does not fail."""
    assert judge(seen) == ([], [])


def test_a_pod_gets_the_loopback_finding_on_its_workers_only() -> None:
    """In Kubernetes localhost is the master's own way to itself, and a mistake on any other rank."""
    worker = facts(
        {**TWO_NODES, "MASTER_ADDR": "localhost", "RANK": "2"},
        host__container="kubernetes",
        names__master=resolved("localhost", "127.0.0.1"),
    )
    assert "env.master-addr-loopback" in {observation.id for observation in judge(worker)[0]}


def test_one_fault_on_several_ranks_is_one_finding() -> None:
    """The same fault of several processes is told once, with a quote from each."""
    broken = [{**TORCHRUN, "RANK": str(r), "LOCAL_RANK": str(r), "NCCL_SOCKET_IFNAME": "ib0"} for r in range(2)]
    found = [o for o in judge(live(*broken))[0] if o.id == "env.nccl-interface-none"]
    assert len(found) == 1
    assert [(q.path, q.rank) for q in found[0].quotes] == [("/proc/100/environ", 0), ("/proc/101/environ", 1)]


def test_what_a_process_calls_itself_is_no_command(records: dict[str, dict[str, Any]]) -> None:
    """A hostile value comes into the commands to copy as one quoted word."""
    hostile = "$(touch /x)"
    (found,) = (o for o in judge(facts({"MASTER_ADDR": "node;reboot"}, names__master=resolved("node;reboot")))[0])
    assert fill(records[found.id]["commands"][0], found.values) == "getent hosts 'node;reboot'"
    differs = next(o for o in judge(three_with(hostile))[0] if o.id == "env.launch-master-differs")
    assert fill(records[differs.id]["commands"][0], differs.values) == f"export MASTER_ADDR='{hostile}'"


def test_the_odd_rank_out_is_named() -> None:
    """Of differing ranks the smaller group is named first, with the value that the others have."""
    (found,) = (o for o in judge(three(NCCL_ALGO="Ring"))[0] if o.id == "env.launch-variable-differs")
    assert (found.values["ranks"], found.values["others"]) == ("2", "0, 1")
    assert (found.values["value"], found.values["usual"]) == ("Ring", "(unset)")


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 1 << 40), st.text(max_size=6), st.just([]), st.just({}), st.just([1])
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every part of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in items for place in places(part, (*path, key)))]


@settings(max_examples=300)
@given(st.data())
def test_a_part_that_is_not_what_it_should_be_does_not_stop_the_judgement(data: st.DataObject) -> None:
    """Whatever one part of the facts is replaced with, the rest is judged."""
    seen = copy.deepcopy(data.draw(st.sampled_from(CASES))[1])
    *outer, last = data.draw(st.sampled_from([place for place in places(seen) if place]))
    part: Any = seen
    for key in outer:
        part = part[key]
    part[last] = data.draw(ODD)
    judge(seen)
