"""D13: the hybrid strategy is written under a key that FSDP1 does not get, and every layer crosses the network.

python repro.py [--fixed]

No GPU and no second node: Accelerate's launcher reads the YAML, and torch shards over a fake group of 16 ranks.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_multi_gpu_env
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from torch.testing._internal.distributed.fake_pg import FakeStore

NODES, GPUS, WIDTH, LAYERS = 2, 8, 512, 6
WANTED = "HYBRID_SHARD"
log = logging.getLogger("train")

YAML = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 2
num_processes: 16
main_process_ip: 10.0.0.1
main_process_port: 29500
fsdp_config:
  fsdp_version: 1
  {key}: HYBRID_SHARD
  fsdp_auto_wrap_policy: SIZE_BASED_WRAP
  fsdp_min_num_params: 100000
"""


def strategy_of(path: Path) -> ShardingStrategy:
    """Return what the training process gets of the file: accelerate launch passes environment variables."""
    args = launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
    args, _, _ = _validate_launch_command(args)
    passed = prepare_multi_gpu_env(args)["FSDP_SHARDING_STRATEGY"]
    return ShardingStrategy(int(passed)) if passed.isdigit() else ShardingStrategy[passed]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="write the strategy where FSDP1 reads it")
    fixed = parser.parse_args().fixed
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s", stream=sys.stderr)
    torch.set_num_threads(1)
    path = Path("accelerate_config.yaml")
    path.write_text(YAML.format(key="fsdp_sharding_strategy" if fixed else "fsdp_reshard_after_forward"))
    strategy = strategy_of(path)

    world = NODES * GPUS
    dist.init_process_group("fake", rank=0, world_size=world, store=FakeStore())
    mesh = init_device_mesh("cpu", (NODES, GPUS), mesh_dim_names=("replicate", "shard"))
    hybrid = strategy is ShardingStrategy.HYBRID_SHARD
    layers = [
        FullyShardedDataParallel(
            nn.Linear(WIDTH, WIDTH),
            sharding_strategy=strategy,
            device_mesh=mesh if hybrid else None,
            device_id=torch.device("cpu"),
        )
        for _ in range(LAYERS)
    ]
    whole = LAYERS * (WIDTH * WIDTH + WIDTH)
    mine = sum(param.numel() for layer in layers for param in layer.parameters())
    ranks = round(whole / mine)
    # bf16: two all-gathers and a reduce-scatter of everything, or one all-reduce of the shard only.
    leaving = 3 * 2 * whole if ranks > GPUS else 2 * 2 * whole / GPUS
    log.info("rank 0 holds %d of %d parameters: every layer lies on %d ranks", mine, whole, ranks)
    log.info("a GPU moves %.2f bytes a parameter through groups that cross nodes, each step", leaving / whole)
    if strategy.name != WANTED:
        message = f"{WANTED} was configured, FSDP runs with {strategy.name} over {ranks} ranks"
        raise RuntimeError(message)


if __name__ == "__main__":
    main()
