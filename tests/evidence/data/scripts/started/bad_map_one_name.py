from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def load(place):
    return AutoModelForCausalLM.from_pretrained("m", device_map=place)  # distkb: script.map-to-one-gpu


def main(loader, optimizer):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(load("cuda:0"), optimizer)
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
