"""A helper calls backward on the loss of an engine."""

import deepspeed
from lib import Net, loader, CFG


def backward(loss):
    loss.backward()


def main():
    net = Net()
    model, optimizer, _, sched = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CFG)
    for b in loader():
        loss = model(b)
        backward(loss)  # distkb: script.backward-beside-engine
        model.step()


main()
