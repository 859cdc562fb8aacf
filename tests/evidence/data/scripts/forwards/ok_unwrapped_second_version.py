"""fully_shard changes the model in place, so there is no wrapper to take it out of."""

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from net import LM, loader


@torch.no_grad()
def validate(accelerator, model, batches):
    net = accelerator.unwrap_model(model)
    return sum(net(**b).loss for b in batches)


accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2))
model, batches = accelerator.prepare(LM(), loader())
print(validate(accelerator, model, batches))
