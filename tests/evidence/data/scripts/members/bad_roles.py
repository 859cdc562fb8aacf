"""Calls of the whole job that one role makes: by a list of ranks, an attribute, a property, a function that leaves."""

import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def actors_and_learners(model):
    rank, world = dist.get_rank(), dist.get_world_size()
    learners = list(range(world // 2))
    group = dist.new_group(learners)
    if rank in learners:
        train(model, group)
    else:
        act(model)


def train(model, group):
    loss = model(torch.ones(4))
    dist.all_reduce(loss, group=group)
    write(model, group)


def write(model, group):
    if dist.get_rank(group) == 0:
        torch.save(model.state_dict(), "model.pt")
    dist.barrier()  # distkb: script.group-left-out


def act(model):
    batch = torch.empty(8)
    dist.recv(batch, src=0)


@dataclass
class Layout:
    rank: int
    eval_rank: int
    trainers: object

    @property
    def is_evaluator(self):
        return self.rank == self.eval_rank


def layout():
    rank, world = dist.get_rank(), dist.get_world_size()
    return Layout(rank, world - 1, dist.new_group(list(range(world - 1))))


def main(model):
    plan = layout()
    if plan.is_evaluator:
        watch(model)
        sys.exit(0)
    total = torch.zeros(1)
    dist.all_reduce(total)  # distkb: script.group-left-out


def watch(model):
    dist.recv(torch.empty(4), src=0)


def named(model):
    rank, world = dist.get_rank(), dist.get_world_size()
    trainers = dist.new_group(list(range(world - 2)))
    role = "data" if rank >= world - 2 else "train"
    if role == "train":
        wrapped = DDP(model)  # distkb: script.group-left-out
        wrapped(torch.ones(2)).sum().backward()
        dist.all_reduce(torch.ones(1), group=trainers)
    else:
        watch(model)


class Worker:
    def __init__(self):
        self.rank = dist.get_rank()
        self.group = dist.new_group([0, 1])
        self.serves = self.rank in (2, 3)

    def run(self):
        if not self.serves:
            objects = [None]
            dist.broadcast_object_list(objects, src=0)  # distkb: script.group-left-out


def asked(x):
    group = dist.new_group([0, 1])
    if dist.get_rank(group) >= 0:
        dist.all_gather_object([None, None], x)  # distkb: script.group-left-out


def member(x):
    group = dist.new_group([0, 1])
    if group != dist.GroupMember.NON_GROUP_MEMBER:
        dist.reduce(x, dst=0)  # distkb: script.group-left-out
