import datetime as dt
import json
import logging
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from kws import stats
from kws.corpus import Corpus
from kws.net import KWSNet


def main():
    cfg = json.load(open(sys.argv[1]))
    out = sys.argv[2]
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=cfg["dist_timeout_s"]))
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(
        level=logging.INFO, stream=sys.stdout,
        format=f"%(asctime)s {socket.gethostname()} [r{rank}] %(name)s: %(message)s")
    log = logging.getLogger(cfg["run_name"])
    torch.manual_seed(cfg["seed"])

    corpus = Corpus(cfg["sources"][rank % len(cfg["sources"])], cfg, seed=cfg["seed"] + rank)
    log.info("source %s: %d files, %.2f h", corpus.name, len(corpus), corpus.hours())
    model = DDP(KWSNet(cfg["n_mels"], cfg["n_classes"]))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    os.makedirs(out, exist_ok=True)
    collector = stats.start(os.path.join(out, f"stats_{corpus.name}.jsonl"), corpus)

    step = 0
    for epoch in range(cfg["epochs"]):
        right = seen = 0
        for wav, label in corpus.batches(epoch):
            logits = model(wav)
            loss = F.cross_entropy(logits, label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            right += (logits.argmax(-1) == label).sum().item()
            seen += len(label)
            if step % cfg["log_every"] == 0:
                log.info("epoch %d step %d loss %.4f acc %.3f", epoch, step, loss.item(), right / seen)
        total = torch.tensor([right, seen], dtype=torch.float64)
        dist.all_reduce(total)
        if rank == 0:
            log.info("epoch %d done, acc %.3f over %d ranks", epoch, (total[0] / total[1]).item(), world)
            torch.save(model.module.state_dict(), os.path.join(out, "kws.pt"))
    log.info("finished %d steps", step)
    collector.terminate()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
