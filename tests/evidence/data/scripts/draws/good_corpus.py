"""Seeded again, for each process, once the model is built."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from good_corpus_helpers import Corpus
from net import Net


def main(cfg):
    accelerator = Accelerator()
    set_seed(cfg.seed)
    corpus = Corpus(cfg.path, cfg.block)
    model = Net()
    model, opt = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    set_seed(cfg.seed, device_specific=True)
    for step in range(cfg.steps):
        x, y = corpus.batch(cfg.batch_size)
        accelerator.backward(model(x, y))
        opt.step()
        opt.zero_grad()
