"""One rank looks, all wait."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from prep import tokenize_corpus
from torch.nn.parallel import DistributedDataParallel

from model import LM


def prepare(folder: Path):
    done = folder / "tokens.bin"
    if dist.get_rank() == 0 and not done.exists():
        tokenize_corpus(folder, done)
    dist.barrier()
    return done


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    tokens = prepare(Path("corpus"))
    model = DistributedDataParallel(LM().cuda())
    print(tokens, model)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
