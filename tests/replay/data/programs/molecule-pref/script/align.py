import sys

import torch
import torch.distributed as dist
import yaml

from lm import CharLM, lm_loss
from strings import Pairs, corpus
from trainer import PreferenceTrainer


def pretrain(model, steps, seed):
    data = corpus(1024, seed=seed)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    g = torch.Generator().manual_seed(seed)
    for i in range(steps):
        loss = lm_loss(model, data[torch.randint(len(data), (64,), generator=g)])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def main():
    cfg = yaml.safe_load(open(sys.argv[1]))
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    model = CharLM()
    nll = pretrain(model, cfg["pretrain_steps"], cfg["seed"])
    if dist.get_rank() == 0:
        print(f"base model: {sum(p.numel() for p in model.parameters())} parameters, nll {nll:.3f}")
    trainer = PreferenceTrainer(model, Pairs(1024, seed=2), Pairs(256, seed=3), cfg)
    trainer.train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
