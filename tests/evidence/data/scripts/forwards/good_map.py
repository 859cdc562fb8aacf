"""Models on one GPU for each process, and a map in a program of one process."""

from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def prepared(loader, name):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained(name, device_map={"": accelerator.process_index})
    judge = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    return accelerator.prepare(model, loader), judge


def alone(name, text):
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    return model.generate(text)
