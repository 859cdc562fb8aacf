import json
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler

from kws.data import ToneKeywords
from kws.frontend import LogMel
from kws.model import KeywordNet
from kws.parallel import log, open_log, setup, shard


def main(path):
    cfg = json.load(open(path))
    rank, world = setup()
    open_log(cfg["out"], rank)
    torch.manual_seed(cfg["seed"])
    log.info("rank %d/%d torch %s config %s", rank, world, torch.__version__, path)

    train = ToneKeywords(cfg, cfg["train_clips"], seed=1)
    sampler = DistributedSampler(train, world, rank, shuffle=True, drop_last=True)
    loader = DataLoader(train, cfg["batch_size"], sampler=sampler, drop_last=True)

    frontend = LogMel(cfg)
    model = KeywordNet(cfg)
    log.info("%d parameters", sum(p.numel() for p in model.parameters()))
    model = shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
    log.info("%d clips, %d steps per epoch", len(train), len(loader))

    step = 0
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        seen = right = 0
        t0 = time.time()
        for wave, label in loader:
            logits = model(frontend(wave)).float()
            loss = F.cross_entropy(logits, label)
            loss.backward()
            opt.step()
            opt.zero_grad()
            right += (logits.argmax(1) == label).sum().item()
            seen += label.numel()
            if step % cfg["log_every"] == 0:
                log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
            step += 1
        totals = torch.tensor([right, seen], dtype=torch.float64)
        dist.all_reduce(totals)
        log.info("epoch %d done in %.1fs train acc %.3f", epoch, time.time() - t0, (totals[0] / totals[1]).item())
    dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "config.json")
    except Exception:
        log.exception("training stopped")
        raise
