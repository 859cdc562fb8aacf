"""One rank generates with a model that the plugin sharded."""

import torch


def preview(model, tok, prompts, is_main):
    if not is_main:
        return []
    ids = tok(prompts, return_tensors="pt").input_ids.cuda()
    out = model.generate(ids, max_new_tokens=64, synced_gpus=True)  # distkb: script.collective-after-rank-left
    return tok.batch_decode(out)

from accelerate import Accelerator, FullyShardedDataParallelPlugin
import torch
from lib import model, tok, loader

acc = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2))
opt = torch.optim.AdamW(model.parameters(), 1e-5)
model, opt, loader = acc.prepare(model, opt, loader)
for i, b in enumerate(loader):
    acc.backward(model(**b).loss)
    opt.step()
    opt.zero_grad()
    if i % 200 == 0:
        print(preview(model, tok, ["Once upon"], acc.is_main_process))
