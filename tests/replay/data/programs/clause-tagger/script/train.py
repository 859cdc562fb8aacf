import json
import logging
import os
import sys

import torch
import torch.distributed as dist

from clauses.data import ClauseDataset
from clauses.engine import Engine
from clauses.model import ClauseTagger


def main():
    with open(sys.argv[1]) as f:
        cfg = json.load(f)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(
        level=logging.INFO,
        format=f"%(asctime)s [rank {rank}] %(message)s",
        datefmt="%H:%M:%S",
        stream=sys.stdout,
    )
    torch.manual_seed(cfg["seed"])

    train_set = ClauseDataset(cfg["train_docs"], cfg["vocab"], cfg["max_len"], seed=1)
    dev_set = ClauseDataset(cfg["dev_docs"], cfg["vocab"], cfg["max_len"], seed=2)
    model = ClauseTagger(cfg)
    model.load_word_vectors(torch.randn(cfg["vocab"], cfg["dim"], generator=torch.Generator().manual_seed(7)))
    if cfg["freeze_embeddings"]:
        model.freeze_embeddings()

    engine = Engine(cfg, model, train_set, dev_set)
    best = -1.0
    for epoch in range(cfg["epochs"]):
        engine.train_epoch(epoch)
        f1 = engine.evaluate(epoch)
        if f1 > best:
            best = f1
            engine.save("best.pt")
    if rank == 0:
        logging.getLogger("clauses").info("finished, best f1 %.3f", best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
