"""Command lines of torchrun, DeepSpeed and accelerate launch: what the launcher refuses is found, the rest is quiet."""

from __future__ import annotations

from pathlib import Path

import built_in
import pytest

from distkb.evidence.readers.configs import read_configs

WRONG = """
torchrun --nnodes 2:1 --master_addr a --node_rank 0 t.py
torchrun --nproc-per-node cuda t.py
torchrun --nproc_per_node 0 t.py
torchrun --nproc_per-node 2 t.py
torchrun --nproc_per_node 2 --master_prot 29400 t.py
torchrun --tee 0:3,1:9 t.py
torchrun --local-ranks-filter a,b t.py
torchrun --rdzv-backend c10d --rdzv-endpoint host:99999 --nproc_per_node 2 t.py
torchrun --rdzv-conf timeout --nproc_per_node 2 t.py
torchrun --standalone --rdzv-conf read_timeout=0 --nproc_per_node 2 t.py
torchrun --standalone=1 --nproc_per_node 2 t.py
torchrun --module --no-python --nproc_per_node 2 t
torchrun --max-restarts -1 --nproc_per_node 2 t.py
torchrun --use_env --nproc_per_node 2 t.py
python -m torch.distributed.launch --no_python --nproc_per_node 2 t.py
deepspeed --include a:0 --exclude a:1 t.py
deepspeed --num_gpus 4 --include localhost:0,1 t.py
deepspeed --num-gpus 8 t.py
deepspeed --num_gpus all t.py
deepspeed --no_ssh --hostfile hosts t.py
deepspeed --include localhost:a t.py
deepspeed --autotuning tuning t.py
deepspeed --launcher openmpi --num_nodes 2 --hostfile hosts t.py
accelerate launch --mixed_precision FP16 t.py
accelerate launch --num_process 4 t.py
accelerate launch --use_parallelism_config t.py
accelerate launch --main_process_port 70000 t.py
accelerate launch --zero_stage two --use_deepspeed t.py
""".strip().split("\n")
RIGHT = """
torchrun --tee 3 --nproc_per_node 2 t.py --master_prot 1
torchrun -t 3 -r 0:1,1:2 --nproc_per_node 2 t.py
torchrun --nnodes=$N --nproc_per_node=$G --rdzv_backend=c10d --rdzv_endpoint=$HOST:29400 --rdzv_id=$ID t.py
torchrun --standalone --rdzv-conf read_timeout=100,join_timeout=900 --nproc-per-node gpu t.py
torchrun $ARGUMENTS t.py
python -m torch.distributed.run --master-port 29501 --nproc-per-node auto t.py
deepspeed --hostfile hosts --include "worker-0@worker-1:0,2" t.py
deepspeed --no_ssh --node_rank 1 --hostfile hosts --master_addr a t.py
deepspeed --num_gpu 4 --master_port 29500 t.py --deepspeed ds.json
deepspeed --include localhost:$GPUS t.py
accelerate launch --mixed-precision bf16 --num-processes 4 --multi_gpu t.py --num_process 3
accelerate launch --use_fsdp --fsdp_version 2 --use_parallelism_config --num_processes 8 t.py
""".strip().split("\n")
HOSTS = "worker-0 slots=8\nworker-1 slots=4\n"


def errors(folder: Path, files: dict[str, str]) -> list[str]:
    """Ids of the errors about some files."""
    catalogue = built_in.catalogue()
    severity = {finding.id: finding.severity for finding in catalogue.findings}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    paths = [folder / name for name in files]
    reading = read_configs(paths, catalogue.settings, {}, refusals=catalogue.refusals)
    return [o.id for o in reading.observations if severity.get(o.id) == "error"]


@pytest.mark.parametrize("command", WRONG)
def test_what_a_launcher_refuses_is_found(command: str, tmp_path: Path) -> None:
    """Torchrun refused each of its own when it was run (torch 2.13); the others follow from the parsers' sources."""
    assert errors(tmp_path, {"run.sh": command + "\n"})


def test_what_a_launcher_takes_is_quiet(tmp_path: Path) -> None:
    """Right commands, those with variables, and what belongs to the script."""
    assert {command: found for command in RIGHT if (found := errors(tmp_path, {"run.sh": command + "\n"}))} == {}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("--include worker-0@worker-1:0,3", []),
        ("--include worker-2", ["config.trainer-refuses"]),
        ("--include worker-1:0,4", ["config.trainer-refuses"]),
        ("--exclude worker-1:7", ["config.trainer-refuses"]),
        ("--launcher mpich", ["config.trainer-excludes"]),
        ("--launcher nosuch", ["config.trainer-unknown-value"]),
        ("--launcher openmpi", []),
        ("--launcher openmpi --num_gpus 4", ["config.trainer-excludes"]),
        ("--no_ssh --node_rank 2", ["config.trainer-refuses"]),
        ("--no_ssh --node_rank 1", []),
    ],
)
def test_hosts_and_slots_are_those_of_the_hostfile(options: str, found: list[str], tmp_path: Path) -> None:
    """What a launch takes must be in the hostfile that it names; of another file nothing is known."""
    command = f"deepspeed --hostfile /job/hostfile {options} t.py\n"
    assert errors(tmp_path, {"run.sh": command, "hostfile": HOSTS}) == found
    elsewhere = command.replace("/job/hostfile", "/job/other_hosts")
    assert errors(tmp_path, {"run.sh": elsewhere, "hostfile": HOSTS}) == []
