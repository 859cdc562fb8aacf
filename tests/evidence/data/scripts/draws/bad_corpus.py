"""A class of another module cuts the batches out with random numbers that one seed makes the same everywhere."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from bad_corpus_helpers import Corpus
from net import Net


def main(cfg):
    accelerator = Accelerator()
    set_seed(cfg.seed)  # distkb: script.one-seed-draws-batches
    corpus = Corpus(cfg.path, cfg.block)
    model = Net()
    model, opt = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    for step in range(cfg.steps):
        x, y = corpus.batch(cfg.batch_size)
        accelerator.backward(model(x, y))
        opt.step()
        opt.zero_grad()
