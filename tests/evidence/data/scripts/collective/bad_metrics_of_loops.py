"""Metrics of plain loops that one rank computes: variables, lists, subclasses, metrics that talk in every step."""

import evaluate
import torch.distributed as dist
import torchmetrics
from accelerate import Accelerator
from torch.distributed.device_mesh import init_device_mesh

accelerator = Accelerator()


class Bits(torchmetrics.Metric):
    def __init__(self):
        super().__init__()
        self.add_state("total", default=0.0, dist_reduce_fx="sum")

    def update(self, loss):
        self.total += loss


def run(loader, model):
    rank = dist.get_rank()
    bits = Bits()
    parts = [torchmetrics.MeanMetric(), torchmetrics.MaxMetric()]
    for x, y in loader:
        bits.update(model(x, y))
    if rank == 0:
        print(bits.compute())  # distkb: script.hidden-collective-on-some-ranks
    if rank == 0:
        for part in parts:
            print(part.compute())  # distkb: script.hidden-collective-on-some-ranks


def stepwise(loader, model):
    accuracy = torchmetrics.Accuracy("binary", dist_sync_on_step=True)
    for x, y in loader:
        if accelerator.is_main_process:
            print(accuracy(model(x), y))  # distkb: script.hidden-collective-on-some-ranks


def scored(loader, model):
    metric = evaluate.load("glue", "mrpc", num_process=accelerator.num_processes, process_id=accelerator.process_index)
    for batch in loader:
        metric.add_batch(predictions=model(batch), references=batch["labels"])
    if accelerator.is_main_process:
        print(metric.compute())  # distkb: script.hidden-collective-on-some-ranks


@accelerator.on_main_process
def summary(metric: object):
    perplexity = torchmetrics.text.Perplexity()
    print(perplexity.compute())  # distkb: script.hidden-collective-on-some-ranks


def meshed(rank):
    if rank < 1:
        return init_device_mesh("cuda", (2, 2))  # distkb: script.group-on-some-ranks
    return None
