"""The same under Accelerate's plugin, in a class."""

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from net import LM, prompts


class Sampler:
    def __init__(self, model, eos):
        self.model, self.eos = model, eos

    def __call__(self, ids):
        done = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
        while not done.all():  # distkb: script.decoding-ends-alone
            token = self.model(ids)[:, -1].softmax(-1).multinomial(1)
            ids = torch.cat([ids, token], 1)
            done |= token.squeeze(1) == self.eos
        return ids


accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())
model, dl = accelerator.prepare(LM(), prompts())
sampler = Sampler(model, 2)
for ids in dl:
    with torch.no_grad():
        accelerator.print(sampler(ids))
