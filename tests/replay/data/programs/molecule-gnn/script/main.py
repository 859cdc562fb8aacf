import logging
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import yaml

from molnet.loop import Runner


def worker(rank, cfg):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(cfg["port"]))
    torch.set_num_threads(1)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, force=True,
                        format=f"%(asctime)s [{rank}] %(message)s", datefmt="%H:%M:%S")
    dist.init_process_group("gloo", rank=rank, world_size=cfg["world"])
    Runner(cfg, rank, cfg["world"]).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    cfg = yaml.safe_load(open(sys.argv[1]))
    mp.spawn(worker, args=(cfg,), nprocs=cfg["world"])
