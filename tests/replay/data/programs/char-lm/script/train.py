import json
import logging
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F

from model import CharLM
from parallel import build_mesh, parallelize

log = logging.getLogger("charlm")


class Corpus:
    def __init__(self, vocab, ctx, seed):
        g = torch.Generator().manual_seed(seed)
        table = torch.randint(0, vocab, (vocab, 4), generator=g)
        ids = [0]
        picks = torch.randint(0, 4, (60_000,), generator=g).tolist()
        for p in picks:
            ids.append(int(table[ids[-1], p]))
        self.ids, self.ctx = torch.tensor(ids), ctx

    def batch(self, n, gen):
        at = torch.randint(0, len(self.ids) - self.ctx - 1, (n,), generator=gen)
        x = torch.stack([self.ids[a:a + self.ctx] for a in at])
        y = torch.stack([self.ids[a + 1:a + self.ctx + 1] for a in at])
        return x, y


def main(path):
    cfg = json.load(open(path))
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, stream=sys.stdout,
                        format=f"%(asctime)s [r{dist.get_rank()}] %(message)s", datefmt="%H:%M:%S")
    mesh = build_mesh(cfg["mesh"], "cpu")
    log.info("mesh %s dp_rank %d tp_rank %d", mesh, mesh["dp"].get_local_rank(), mesh["tp"].get_local_rank())

    tr, oc = cfg["train"], cfg["optim"]
    torch.manual_seed(tr["seed"])
    model = parallelize(CharLM(**cfg["model"]), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=oc["lr"], betas=oc["betas"],
                            weight_decay=oc["weight_decay"], foreach=False)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / oc["warmup"]))
    n = sum(p.numel() for p in model.parameters())
    log.info("%.2fM parameters, batch %d x %d", n / 1e6, tr["batch_size"], mesh["dp"].size())

    corpus = Corpus(cfg["model"]["vocab"], cfg["model"]["ctx"], tr["seed"])
    gen = torch.Generator().manual_seed(1000 + mesh["dp"].get_local_rank())
    for step in range(tr["steps"]):
        x, y = corpus.batch(tr["batch_size"], gen)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        gnorm = torch.nn.utils.clip_grad_norm_(model.parameters(), oc["max_norm"])
        opt.step()
        sched.step()
        opt.zero_grad()
        if step % tr["log_every"] == 0:
            gnorm = gnorm.full_tensor() if hasattr(gnorm, "full_tensor") else gnorm
            log.info("step %d loss %.4f gnorm %.3f lr %.2e", step, loss.item(), gnorm.item(), sched.get_last_lr()[0])
    log.info("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.json")
