"""Microbatches that are too few, and batches that do not cut into them."""

import argparse

import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.utils.data import DataLoader


def one_at_a_time(part, device, loss_fn):
    stage = PipelineStage(part, dist.get_rank(), dist.get_world_size(), device)
    return Schedule1F1B(stage, n_microbatches=1, loss_fn=loss_fn)  # distkb: script.pipeline-few-microbatches


def of_settings(part, device, loss_fn):
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro", type=int, default=2)
    args = parser.parse_args()
    stage = PipelineStage(part, dist.get_rank(), num_stages=4, device=device)
    return Schedule1F1B(stage, args.micro, loss_fn=loss_fn)  # distkb: script.pipeline-few-microbatches


def train(part, device, data, loss_fn, first, last):
    stage = PipelineStage(part, dist.get_rank(), dist.get_world_size(), device)
    schedule = ScheduleGPipe(stage, n_microbatches=6, loss_fn=loss_fn)
    loader = DataLoader(data, batch_size=32, drop_last=True)  # distkb: script.pipeline-uneven-batch
    for inputs, labels in loader:
        if first:
            schedule.step(inputs)
        elif last:
            schedule.step(target=labels)
        else:
            schedule.step()


class Epochs:
    def __init__(self, part, device, data, loss_fn):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.loader = DataLoader(data, batch_size=32, shuffle=False)  # distkb: script.pipeline-short-batch
        stage = PipelineStage(part, self.rank, self.world, device)
        self.schedule = Schedule1F1B(stage, n_microbatches=8, loss_fn=loss_fn)

    def run(self):
        for _, (inputs, labels) in enumerate(self.loader):
            if self.rank == 0:
                self.schedule.step(inputs)
            elif self.rank == self.world - 1:
                self.schedule.step(target=labels)
            else:
                self.schedule.step()
