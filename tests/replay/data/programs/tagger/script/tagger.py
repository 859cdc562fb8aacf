import collections
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

TAGS = ["O", "PER", "LOC", "ORG"]


class Corpus:
    def __init__(self, path, rank, world, min_count):
        with open(path) as f:
            lines = f.read().splitlines()[rank::world]
        self.sents = [[tok.rsplit("/", 1) for tok in l.split()] for l in lines]
        seen = collections.Counter(w for s in self.sents for w, _ in s)
        words = sorted(w for w, n in seen.items() if n >= min_count)
        self.vocab = {"<pad>": 0, "<unk>": 1}
        for w in words:
            self.vocab[w] = len(self.vocab)

    def batches(self, size, rng):
        order = torch.randperm(len(self.sents), generator=rng).tolist()
        for i in range(0, len(order) - size + 1, size):
            chunk = [self.sents[j] for j in order[i:i + size]]
            n = max(map(len, chunk))
            x = torch.zeros(size, n, dtype=torch.long)
            y = torch.full((size, n), -100)
            for r, s in enumerate(chunk):
                for c, (w, t) in enumerate(s):
                    x[r, c] = self.vocab.get(w, 1)
                    y[r, c] = TAGS.index(t)
            yield x, y


class Tagger(nn.Module):
    def __init__(self, n_words, emb, hidden):
        super().__init__()
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(TAGS))
        self.emb = nn.Embedding(n_words, emb, padding_idx=0)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))
        return self.out(h)


class GradAverager:
    """One flat buffer per step instead of one call per tensor."""

    def __init__(self, params, world):
        self.params, self.world = list(params), world

    def __call__(self):
        flat = torch.cat([p.grad.reshape(-1) for p in self.params])
        dist.all_reduce(flat)
        flat /= self.world
        i = 0
        for p in self.params:
            n = p.numel()
            p.grad.copy_(flat[i:i + n].view_as(p))
            i += n


def main():
    cfg = json.load(open(sys.argv[1]))
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(cfg["seed"])
    rng = torch.Generator().manual_seed(cfg["seed"] + rank)

    data = Corpus(cfg["corpus"], rank, world, cfg["min_count"])
    model = Tagger(len(data.vocab), cfg["emb"], cfg["hidden"])
    average = GradAverager(model.parameters(), world)
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    size = sum(p.numel() for p in model.parameters())
    print(f"{len(data.sents)} sentences, {len(data.vocab)} words, {size} parameters", flush=True)

    step, t0 = 0, time.time()
    for epoch in range(cfg["epochs"]):
        for x, y in data.batches(cfg["batch"], rng):
            logits = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-100)
            opt.zero_grad()
            loss.backward()
            average()
            opt.step()
            step += 1
            if step % 5 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f} "
                      f"{time.time() - t0:.1f}s", flush=True)
    if rank == 0:
        torch.save({"model": model.state_dict(), "vocab": data.vocab}, "tagger.pt")
        print("wrote tagger.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
