"""Pipelines whose stages get what they need, and take from them what there is."""

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, pipeline
from torch.utils.data import DataLoader


def train(part, device, data, loss_fn, epochs):
    rank, world = dist.get_rank(), dist.get_world_size()
    schedule = Schedule1F1B(PipelineStage(part, rank, world, device), n_microbatches=8, loss_fn=loss_fn)
    loader = DataLoader(data, batch_size=32, drop_last=True)
    for _ in range(epochs):
        for inputs, labels in loader:
            losses = []
            output = schedule.step(inputs, target=labels, losses=losses)
            if output is not None:
                print(torch.stack(losses).mean().item(), output.shape)


def whole_batches(part, device, data, batch_size):
    rank, world = dist.get_rank(), dist.get_world_size()
    schedule = ScheduleGPipe(PipelineStage(part, rank, world, device), n_microbatches=4)
    for inputs in DataLoader(data, batch_size=batch_size):
        if inputs.size(0) < batch_size:
            break
        scores = schedule.eval(inputs)
        if rank == world - 1:
            print(torch.softmax(scores, -1))


def traced(model, example, device):
    rank = dist.get_rank()
    pipe = pipeline(model, mb_args=(example,))
    part = pipe.get_stage_module(rank)
    return part(example.to(device))


def one_stage(part, device, inputs):
    schedule = Schedule1F1B(PipelineStage(part, 0, 1, device), n_microbatches=1)
    return schedule.step(inputs)
