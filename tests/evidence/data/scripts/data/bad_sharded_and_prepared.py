"""A data set of which each rank takes its shard, and whose loader Accelerate divides once more."""

from accelerate import Accelerator
from torch.utils.data import DataLoader


def build(accelerator, dataset):
    mine = dataset.shard(num_shards=accelerator.num_processes, index=accelerator.process_index)
    return DataLoader(mine, batch_size=8, shuffle=True)


def main(model, optimizer, dataset):
    accelerator = Accelerator()
    loader = build(accelerator, dataset)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)  # distkb: script.divided-twice
    for batch in loader:  # distkb: script.decided-by-own-part
        accelerator.backward(model(batch).mean())
        optimizer.step()
