"""Every stage makes the same call of the schedule."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe


def build(part, device, microbatches):
    stage = PipelineStage(part, dist.get_rank(), dist.get_world_size(), device)
    return ScheduleGPipe(stage, n_microbatches=microbatches)


def accuracy(part, device, batches):
    schedule = build(part, device, 4)
    right = 0
    for inputs, labels in batches:
        logits = schedule.eval(inputs)
        right += (logits.argmax(-1) == labels).sum().item()  # distkb: script.pipeline-output-of-all
    return right


class Trainer:
    def __init__(self, part, device, optimizer, microbatches):
        stage = PipelineStage(part, dist.get_rank(), dist.get_world_size(), device)
        self.optimizer = optimizer
        self.schedule = Schedule1F1B(stage, microbatches, loss_fn=nn.functional.cross_entropy)

    def step(self, inputs, labels):
        self.optimizer.zero_grad()
        self.schedule.step(inputs)  # distkb: script.pipeline-without-target
        self.optimizer.step()


def predict(part, device, inputs):
    schedule = build(part, device, 2)
    scores = schedule.eval(inputs)
    return torch.softmax(scores, -1)  # distkb: script.pipeline-output-of-all
