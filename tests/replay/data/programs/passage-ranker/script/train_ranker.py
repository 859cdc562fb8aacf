import argparse
import logging
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
import yaml
from accelerate.logging import get_logger
from torch import nn
from torch.utils.data import DataLoader, Dataset

from negatives import mine
from setup_dist import environment, make_accelerator

log = get_logger("ranker")


def load_collection(cfg):
    rng = random.Random(cfg["seed"])
    topics = [[rng.randrange(cfg["vocab"]) for _ in range(40)] for _ in range(cfg["topics"])]
    passages = [
        [rng.choice(t) if rng.random() < 0.6 else rng.randrange(cfg["vocab"]) for _ in range(cfg["passage_len"])]
        for t in (rng.choice(topics) for _ in range(cfg["passages"]))
    ]
    positives = [rng.randrange(len(passages)) for _ in range(cfg["queries"])]
    queries = [rng.sample(passages[i], cfg["query_len"]) for i in positives]
    return passages, queries, positives


class Triples(Dataset):
    def __init__(self, passages, queries, positives, hard):
        self.p, self.q, self.pos, self.hard = passages, queries, positives, hard

    def __len__(self):
        return len(self.q)

    def __getitem__(self, i):
        neg = random.choice(self.hard[i])
        return torch.tensor(self.q[i]), torch.tensor(self.p[self.pos[i]]), torch.tensor(self.p[neg])


class DualEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, q, pos, neg):
        q, pos, neg = (F.normalize(self.proj(self.emb(x)), dim=-1) for x in (q, pos, neg))
        return q @ torch.cat([pos, neg]).T / 0.05


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="ranker.yaml")
    cfg = yaml.safe_load(open(ap.parse_args().config))

    acc = make_accelerator(cfg["accumulation"])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s",
                        handlers=[logging.FileHandler(f"logs/rank{acc.process_index}.log", "w"), logging.StreamHandler()])
    log.info("environment %s", environment())
    log.info("config %s", cfg)
    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])

    passages, queries, positives = load_collection(cfg)
    cache = Path(cfg["work_dir"]) / "hard_negatives.pt"
    if acc.is_main_process:
        cache.parent.mkdir(exist_ok=True)
        t0 = time.time()
        hard = mine(passages, queries, positives, cfg["negatives"], log.info)
        torch.save(hard, cache)
        log.info("negatives for %d queries in %.0f s -> %s", len(hard), time.time() - t0, cache)
    acc.wait_for_everyone()
    hard = torch.load(cache)

    loader = DataLoader(Triples(passages, queries, positives, hard), cfg["batch_size"], shuffle=True, drop_last=True)
    model = DualEncoder(cfg["vocab"], cfg["dim"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    model, opt, loader = acc.prepare(model, opt, loader)

    step = 0
    for epoch in range(cfg["epochs"]):
        for q, pos, neg in loader:
            with acc.accumulate(model):
                logits = model(q, pos, neg)
                loss = F.cross_entropy(logits, torch.arange(len(q)))
                acc.backward(loss)
                opt.step()
                opt.zero_grad()
            step += 1
            if step % 10 == 0:
                log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
    acc.save_model(model, cfg["work_dir"])
    log.info("saved %s", cfg["work_dir"])
    acc.end_training()


if __name__ == "__main__":
    main()
