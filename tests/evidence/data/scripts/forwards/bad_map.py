"""A map over all GPUs in every process of a job."""

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM


def prepared(loader, name):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")  # distkb: script.map-in-every-process
    return accelerator.prepare(model, loader)


def wrapped(name, local_rank):
    model = AutoModelForCausalLM.from_pretrained(name, device_map="balanced")  # distkb: script.map-in-every-process
    return DDP(model, device_ids=[local_rank])
