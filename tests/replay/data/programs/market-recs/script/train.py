import argparse
import json
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

from recs.data import loaders_for_rank, read_index
from recs.model import TwoTower, make_heads
from recs.parallel import MarketGroups


def setup_logging(rank):
    logging.basicConfig(
        level=logging.INFO,
        format=f"%(asctime)s [rank {rank}] %(name)s: %(message)s",
        datefmt="%H:%M:%S",
    )
    return logging.getLogger("recs.train")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="conf/base.json")
    args = ap.parse_args()
    with open(args.config) as f:
        cfg = json.load(f)

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    log = setup_logging(rank)
    torch.manual_seed(cfg["seed"])

    shards = read_index(cfg["index"])
    rows = {}
    for s in shards:
        rows[s.market] = rows.get(s.market, 0) + s.rows
    markets = {s.market for s in shards if rows[s.market] >= cfg["min_rows"]}
    shards = [s for s in shards if s.market in markets]
    log.info("%d shards, %d markets, %d rows", len(shards), len(markets), sum(s.rows for s in shards))

    towers = TwoTower(cfg["n_users"], cfg["n_items"], cfg["dim"])
    heads = make_heads(markets, cfg["dim"])
    groups = MarketGroups(shards, markets, world)
    log.info("heads ready, %d parameters in towers", sum(p.numel() for p in towers.parameters()))

    opt = torch.optim.Adam([*towers.parameters(), *heads.parameters()], lr=cfg["lr"])
    loaders = loaders_for_rank(shards, rank, world, cfg)

    for epoch in range(cfg["epochs"]):
        t0, total, n = time.time(), 0.0, 0
        for market, loader in loaders:
            for users, items, clicks in loader:
                logits = heads[market](towers(users, items)).squeeze(-1)
                loss = F.binary_cross_entropy_with_logits(logits, clicks)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item() * len(clicks)
                n += len(clicks)
        # local SGD: models meet once per epoch
        groups.average_towers(towers)
        groups.average_heads(heads, rank)
        log.info("epoch %d: loss %.4f over %d impressions, %.1fs", epoch, total / n, n, time.time() - t0)

    if rank == 0:
        os.makedirs(cfg["out"], exist_ok=True)
        torch.save({"towers": towers.state_dict(), "heads": heads.state_dict()}, f"{cfg['out']}/model.pt")
        log.info("saved %s/model.pt", cfg["out"])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
