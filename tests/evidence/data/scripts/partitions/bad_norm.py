"""A norm of the weights in a helper."""

import deepspeed
from net import Net, loader

CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "zero_optimization": {"stage": 3},
    "bf16": {"enabled": True},
}


def weight_norm(model):
    return sum(p.float().norm() ** 2 for p in model.parameters()) ** 0.5  # distkb: script.weight-of-partitioned


def main():
    engine, opt, _, _ = deepspeed.initialize(model=Net(), config=CONFIG)
    for step, b in enumerate(loader()):
        loss = engine(**b).loss + 1e-4 * weight_norm(engine.module)
        engine.backward(loss)
        engine.step()


main()
