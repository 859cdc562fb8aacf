"""Support ticket routing: text -> queue. A GRU over hashed words, trained with DeepSpeed."""
import hashlib
import logging
import os
import random
import sys

import deepspeed
import torch
import torch.nn as nn
import yaml
from torch.utils.data import Dataset

QUEUES = ["billing", "login", "shipping", "returns", "other"]
WORDS = {
    "billing": "invoice charge card refund amount vat receipt".split(),
    "login": "password account locked code email reset".split(),
    "shipping": "parcel courier late tracking address".split(),
    "returns": "label broken size exchange box".split(),
    "other": "question hello thanks opening hours".split(),
}
FILLER = "please i the my can you have was is not again today".split()

log = logging.getLogger("router")


def hashed(word, buckets=2048):
    return int(hashlib.md5(word.encode()).hexdigest(), 16) % (buckets - 1) + 1


class Tickets(Dataset):
    def __init__(self, n, seed, length=16):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            q = rng.randrange(len(QUEUES))
            words = [rng.choice(FILLER) for _ in range(length - 3)]
            words += [rng.choice(WORDS[QUEUES[q]]) for _ in range(3)]
            rng.shuffle(words)
            self.rows.append((torch.tensor([hashed(w) for w in words]), q))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Router(nn.Module):
    def __init__(self, buckets=2048, dim=32):
        super().__init__()
        self.emb = nn.Embedding(buckets, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, len(QUEUES))

    def forward(self, x):
        out, _ = self.rnn(self.emb(x))
        return self.head(out.mean(1))


class Run:
    def __init__(self, cfg_path):
        with open(cfg_path) as f:
            self.cfg = yaml.safe_load(f)
        deepspeed.init_distributed(dist_backend="gloo")
        self.rank = torch.distributed.get_rank()
        logging.basicConfig(level=logging.INFO, stream=sys.stdout,
                            format=f"%(asctime)s r{self.rank} %(name)s: %(message)s")
        torch.manual_seed(11)
        self.train_set = Tickets(1024, seed=1)
        self.test_set = Tickets(200, seed=2)
        log.info("data ready: %d train, %d test", len(self.train_set), len(self.test_set))
        model = Router()
        self.engine, self.opt, self.loader, self.sched = deepspeed.initialize(
            model=model, model_parameters=model.parameters(), config=self.cfg,
            training_data=self.train_set)

    def epoch(self, e):
        self.engine.train()
        total = 0.0
        n = 0
        for x, y in self.loader:
            loss = nn.functional.cross_entropy(self.engine(x), y)
            self.engine.backward(loss)
            self.engine.step()
            total += loss.item()
            n += 1
        log.info("epoch %d loss %.4f over %d batches", e, total / n, n)

    @torch.no_grad()
    def test(self):
        self.engine.eval()
        x = torch.stack([r[0] for r in self.test_set.rows])
        y = torch.tensor([r[1] for r in self.test_set.rows])
        return (self.engine(x).argmax(1) == y).float().mean().item()


def main():
    torch.set_num_threads(1)
    run = Run(os.environ.get("DS_CFG", "ds.yaml"))
    for e in range(4):
        run.epoch(e)
    acc = run.test()
    if run.rank == 0:
        log.info("test accuracy %.3f", acc)
        torch.save(run.engine.module.state_dict(), "router.pt")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
