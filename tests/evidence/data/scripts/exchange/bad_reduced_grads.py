"""Gradients that Accelerate adds up, as it does unless told otherwise, beside a share of the batch."""

from accelerate import Accelerator


def average(accelerator, model):
    for parameter in model.parameters():
        parameter.grad = accelerator.reduce(parameter.grad)  # distkb: script.gradients-summed


def main(model, optimizer, batches, args):
    accelerator = Accelerator()
    share = args.batch // accelerator.num_processes
    for batch in batches:
        model(batch[:share]).mean().backward()
        average(accelerator, model)
        optimizer.step()
