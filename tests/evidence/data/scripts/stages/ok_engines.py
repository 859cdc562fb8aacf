"""Engines of DeepSpeed, with a pipeline and without one."""

import deepspeed
from deepspeed.pipe import PipelineModule


def train_pipeline(args, layers, data):
    engine, _, _, _ = deepspeed.initialize(args=args, model=PipelineModule(layers=layers, num_stages=4), training_data=data)
    for _ in range(args.steps):
        loss = engine.train_batch()
    engine.save_checkpoint(args.output)
    return loss


def train_plain(args, net, loader):
    engine, _, _, _ = deepspeed.initialize(args=args, model=net)
    for batch in loader:
        loss = engine(batch)
        engine.backward(loss)
        engine.step()
