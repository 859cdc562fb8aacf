"""The wrapped model comes out of functions and objects of the project."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel


def build_model(width):
    net = torch.nn.Linear(width, width)
    return DistributedDataParallel(net)


def build_all(width):
    model = FullyShardedDataParallel(torch.nn.Linear(width, width))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def shard(layers):
    for layer in layers.children():
        fully_shard(layer)
    fully_shard(layers)


class Runner:
    def __init__(self, width):
        self.net = build_model(width)


class Evaluation:
    def __init__(self, runner: Runner, data):
        self.runner = runner
        self.data = data

    def run(self):
        for batch in self.data:
            self.runner.net(batch)


def evaluate(width, data):
    model = build_model(width)
    if dist.get_rank() == 0:
        for batch in data:
            model(batch)  # distkb: script.ddp-forward-on-some-ranks


def evaluate_sharded(width, data):
    model, optimizer = build_all(width)
    if dist.get_rank() == 0:
        for batch in data:
            model(batch)  # distkb: script.forward-on-some-ranks
    return optimizer


def evaluate_in_place(width, data):
    model = torch.nn.Sequential(torch.nn.Linear(width, width))
    shard(model)
    if dist.get_rank() == 0:
        for batch in data:
            model(batch)  # distkb: script.forward-on-some-ranks


def evaluate_object(width, data):
    runner = Runner(width)
    if dist.get_rank() == 0:
        for batch in data:
            runner.net(batch)  # distkb: script.ddp-forward-on-some-ranks


def evaluate_twice(width, data):
    evaluation = Evaluation(Runner(width), data)
    if dist.get_rank() == 0:
        evaluation.run()  # distkb: script.ddp-forward-on-some-ranks
