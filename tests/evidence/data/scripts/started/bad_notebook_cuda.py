import torch
from accelerate import Accelerator, notebook_launcher


def probe(model):
    return model(torch.zeros(1, 8, device="cuda"))


def train(model):
    accelerator = Accelerator()
    accelerator.prepare(model)


net = torch.nn.Linear(8, 8)
probe(net.cuda())  # distkb: script.begun-before-notebook
notebook_launcher(train, args=(net,), num_processes=2)
