"""A helper hands the loss to the engine."""

import deepspeed
from lib import Net, loader, CFG


def backward(model, loss):
    model.backward(loss)


def main():
    net = Net()
    model, optimizer, _, sched = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CFG)
    for b in loader():
        loss = model(b)
        backward(model, loss)
        model.step()


main()
