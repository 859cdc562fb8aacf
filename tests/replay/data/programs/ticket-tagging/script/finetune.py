"""Ticket router: small BERT classifier, trained with Accelerate."""
import json
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

from data import QUEUES, VOCAB, Tickets

EPOCHS, BATCH, LR = 2, 32, 2e-3
OUT = Path("out")


def build_model():
    cfg = BertConfig(
        vocab_size=len(VOCAB), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96, max_position_embeddings=32, num_labels=len(QUEUES),
        id2label=dict(enumerate(QUEUES)), label2id={q: i for i, q in enumerate(QUEUES)},
    )
    return BertForSequenceClassification(cfg)


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    hits = torch.zeros(model.config.num_labels)
    seen = torch.zeros(model.config.num_labels)
    for batch in loader:
        pred = model(**batch).logits.argmax(-1)
        pred, gold = accelerator.gather_for_metrics((pred, batch["labels"]))
        for c in range(model.config.num_labels):
            seen[c] += (gold == c).sum()
            hits[c] += ((gold == c) & (pred == c)).sum()
    model.train()
    per_class = {model.config.id2label[c]: round((hits[c] / seen[c]).item(), 3) for c in range(len(seen))}
    return (hits.sum() / seen.sum()).item(), per_class


def main():
    accelerator = Accelerator(cpu=True)
    set_seed(11)
    OUT.mkdir(exist_ok=True)
    train = DataLoader(Tickets(1600, seed=0), batch_size=BATCH, shuffle=True)
    val = DataLoader(Tickets(300, seed=1), batch_size=64)
    model = build_model()
    opt = torch.optim.AdamW(model.parameters(), lr=LR)
    model, opt, train, val = accelerator.prepare(model, opt, train, val)
    total = EPOCHS * len(train)
    sched = get_linear_schedule_with_warmup(opt, total // 10, total)
    accelerator.print(f"{accelerator.num_processes} processes, {len(train)} batches per epoch each, "
                      f"{sum(p.numel() for p in model.parameters()):,} parameters")

    for epoch in range(EPOCHS):
        t0, losses = time.time(), []
        for i, batch in enumerate(train):
            out = model(**batch)
            accelerator.backward(out.loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            losses.append(out.loss.item())
            if (i + 1) % 5 == 0:
                accelerator.print(f"epoch {epoch} batch {i + 1:3d}/{len(train)} "
                                  f"loss {sum(losses[-5:]) / 5:.4f} lr {sched.get_last_lr()[0]:.2e}")
        accelerator.print(f"epoch {epoch} train loss {sum(losses) / len(losses):.4f} ({time.time() - t0:.1f}s)")
        acc, per_class = evaluate(accelerator, model, val)
        accelerator.print(f"epoch {epoch} val accuracy {acc:.4f} {per_class}")
        if accelerator.is_main_process:
            with open(OUT / "metrics.jsonl", "a") as f:
                f.write(json.dumps({"epoch": epoch, "acc": acc, **per_class}) + "\n")
    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained(OUT / "model")
    accelerator.end_training()


if __name__ == "__main__":
    main()
