import argparse
import logging
import os
import random
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence

from asr.audio import ALPHABET, BINS
from asr.feed import ClipFeed
from asr.model import TinyCTC


def chunks(utts, size):
    for i in range(0, len(utts), size):
        yield utts[i:i + size]


def batches(clips, size):
    clips.sort(key=lambda c: len(c[0]))
    for i in range(0, len(clips) - size + 1, size):
        yield clips[i:i + size]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True, help="clip folder on the local disk")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--chunk", type=int, default=24)
    p.add_argument("--batch", type=int, default=6)
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--dist-timeout", type=int, default=20)
    a = p.parse_args()

    rank = int(os.environ["RANK"])
    local, n_local = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    logging.basicConfig(level=logging.INFO,
                        format=f"%(asctime)s r{rank} %(levelname)s %(name)s: %(message)s")
    log = logging.getLogger("train")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=a.dist_timeout))
    torch.manual_seed(0)
    model = DDP(TinyCTC(BINS, a.hidden, len(ALPHABET) + 1))
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)

    utts = sorted(f[:-4] for f in os.listdir(a.data) if f.endswith(".raw"))[local::n_local]
    log.info("%d clips from %s", len(utts), a.data)
    step = 0
    for epoch in range(a.epochs):
        random.Random(epoch).shuffle(utts)
        for part in chunks(utts, a.chunk):
            with ClipFeed(a.data, part) as feed:
                clips = list(feed)
            for b in batches(clips, a.batch):
                x = pad_sequence([c[0] for c in b], batch_first=True)
                xl = torch.tensor([len(c[0]) for c in b])
                y = torch.cat([c[1] for c in b])
                yl = torch.tensor([len(c[1]) for c in b])
                logp, ol = model(x, xl)
                loss = F.ctc_loss(logp.transpose(0, 1), y, ol, yl, zero_infinity=True)
                opt.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                opt.step()
                step += 1
                if step % 4 == 0:
                    log.info("epoch %d step %d ctc %.3f", epoch, step, loss.item())
        if rank == 0:
            torch.save(model.module.state_dict(), "asr_last.pt")
            log.info("epoch %d done, saved asr_last.pt", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
