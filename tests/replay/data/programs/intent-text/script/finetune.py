"""Intent classifier. `fit` trains on one process, `eval` scores a checkpoint on any number."""
import argparse
import json

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from intents import LABELS, VOCAB, Utterances

import logging

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
logger = get_logger(__name__)


class Bag(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(len(VOCAB) + 1, d, padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, len(LABELS)))

    def forward(self, ids):
        h = self.emb(ids)
        n = (ids > 0).sum(1, keepdim=True).clamp(min=1)
        return self.mlp(h.sum(1) / n)


def report(pred, gold):
    rows = {}
    for k, name in enumerate(LABELS):
        tp = int(((pred == k) & (gold == k)).sum())
        fp = int(((pred == k) & (gold != k)).sum())
        fn = int(((pred != k) & (gold == k)).sum())
        rows[name] = {"precision": tp / max(1, tp + fp), "recall": tp / max(1, tp + fn),
                      "f1": 2 * tp / max(1, 2 * tp + fp + fn), "support": tp + fn}
    return rows


@torch.no_grad()
def evaluate(acc, model, loader):
    model.eval()
    preds, golds, total = [], [], 0.0
    for ids, y in loader:
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits, y, reduction="none")
        p, g, l = acc.gather((logits.argmax(-1), y, loss))
        preds.append(p)
        golds.append(g)
        total += l.sum().item()
    pred, gold = torch.cat(preds), torch.cat(golds)
    rows = report(pred, gold)
    return {"accuracy": (pred == gold).float().mean().item(),
            "macro_f1": sum(r["f1"] for r in rows.values()) / len(rows),
            "loss": total / len(gold)}, rows


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("what", choices=["fit", "eval"])
    ap.add_argument("--model", default="intent.pt")
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--eval-batch", type=int, default=16)
    ap.add_argument("--metrics", default="logs/metrics.jsonl")
    args = ap.parse_args()

    acc = Accelerator(cpu=True)
    set_seed(5)
    dev = Utterances(203, seed=2)
    dev_dl = DataLoader(dev, batch_size=args.eval_batch)
    model = Bag()
    if args.what == "fit":
        train_dl = DataLoader(Utterances(3000, seed=1), batch_size=32, shuffle=True)
        opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
        model, opt, train_dl, dev_dl = acc.prepare(model, opt, train_dl, dev_dl)
        for epoch in range(args.epochs):
            model.train()
            for ids, y in train_dl:
                loss = nn.functional.cross_entropy(model(ids), y)
                acc.backward(loss)
                opt.step()
                opt.zero_grad()
            logger.info(f"epoch {epoch + 1} train loss {loss.item():.4f}")
        acc.save(acc.unwrap_model(model).state_dict(), args.model)
    else:
        model.load_state_dict(torch.load(args.model))
        model, dev_dl = acc.prepare(model, dev_dl)

    logger.info("***** Evaluation *****")
    logger.info(f"  model = {args.model}")
    logger.info(f"  dev utterances = {len(dev)}, batch per process = {args.eval_batch}, processes = {acc.num_processes}")
    scores, rows = evaluate(acc, model, dev_dl)
    if acc.is_main_process:
        logger.info("accuracy %.4f  macro_f1 %.4f  loss %.4f" % (scores["accuracy"], scores["macro_f1"], scores["loss"]))
        print(f"{'':14s}{'precision':>10s}{'recall':>8s}{'f1':>8s}{'support':>9s}")
        for name, r in rows.items():
            print(f"{name:14s}{r['precision']:10.3f}{r['recall']:8.3f}{r['f1']:8.3f}{r['support']:9d}")
        with open(args.metrics, "a") as f:
            f.write(json.dumps({"what": args.what, "processes": acc.num_processes, **scores}) + "\n")
    acc.end_training()


if __name__ == "__main__":
    main()
