"""Star prediction from user, item and review text.

    torchrun --nproc-per-node 2 rate.py --project /mnt/lab/reviews
"""
import argparse
import logging
import os

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from datasets import load_dataset
from torch import nn
from torch.utils.data import DataLoader

logger = get_logger(__name__)


class Rater(nn.Module):
    def __init__(self, users=200, items=150, vocab=4096, dim=24):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.words = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.top = nn.Sequential(nn.Linear(3 * dim, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, user, item, words):
        z = torch.cat([self.user(user), self.item(item), self.words(words)], -1)
        return 3 + self.top(z).squeeze(-1)


def encode(rows, vocab=4096):
    ids = []
    for text in rows["text"]:
        ids.append([sum(ord(c) * 31 ** k for k, c in enumerate(w)) % vocab for w in text.split()])
    return {"words": ids}


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--project", required=True, help="project directory: data in, cache and models out")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-3)
    return p.parse_args()


def main():
    args = parse()
    acc = Accelerator(cpu=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    set_seed(5)
    logger.info(f"{acc.num_processes} processes, project {args.project}")

    cache = os.path.join(args.project, "cache")
    with acc.main_process_first():
        raw = load_dataset("json", data_files=os.path.join(args.project, "reviews.jsonl"), split="train", cache_dir=cache)
        data = raw.map(encode, batched=True, desc="encode")
    data = data.train_test_split(0.1, seed=5)
    data.set_format("torch", columns=["user", "item", "stars", "words"])
    logger.info(f"{len(data['train'])} train rows, {len(data['test'])} test rows")

    train = DataLoader(data["train"], batch_size=args.batch, shuffle=True, drop_last=True)
    test = DataLoader(data["test"], batch_size=args.batch)
    model = Rater()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, opt, train, test = acc.prepare(model, opt, train, test)

    for epoch in range(args.epochs):
        model.train()
        for step, b in enumerate(train):
            loss = nn.functional.mse_loss(model(b["user"], b["item"], b["words"]), b["stars"].float())
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            if step % 20 == 0:
                logger.info(f"epoch {epoch} step {step}/{len(train)} loss {loss.item():.4f}")
        model.eval()
        err = []
        with torch.no_grad():
            for b in test:
                e = (model(b["user"], b["item"], b["words"]) - b["stars"]).abs()
                err.append(acc.gather_for_metrics(e))
        logger.info(f"epoch {epoch} test mae {torch.cat(err).mean().item():.4f}")

    acc.wait_for_everyone()
    if acc.is_main_process:
        path = os.path.join(args.project, "rater.pt")
        acc.save(acc.unwrap_model(model).state_dict(), path)
        logger.info(f"wrote {path}")
    acc.end_training()


if __name__ == "__main__":
    main()
