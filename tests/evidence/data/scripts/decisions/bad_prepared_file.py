"""An early return before the barrier."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from prep import tokenize_corpus
from torch.nn.parallel import DistributedDataParallel

from model import LM


def prepare(folder: Path):
    done = folder / "tokens.bin"
    if done.exists():  # distkb: script.decided-by-own-files
        return done
    if dist.get_rank() == 0:
        tokenize_corpus(folder, done)
    dist.barrier()
    return done


def main():
    dist.init_process_group("nccl")  # distkb: script.group-not-destroyed
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    tokens = prepare(Path(os.environ.get("SCRATCH", "/tmp")) / "corpus")
    model = DistributedDataParallel(LM().cuda())
    data = torch.from_file(
        str(tokens), dtype=torch.int32, size=tokens.stat().st_size // 4
    )
    opt = torch.optim.AdamW(model.parameters())
    for i in range(1000):
        loss = model(data[i * 512 : (i + 1) * 512].cuda())
        loss.backward()
        opt.step()
        opt.zero_grad()


if __name__ == "__main__":
    main()
