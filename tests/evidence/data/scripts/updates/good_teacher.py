"""A whole wrapped model that is frozen for good takes no part in training."""

from torch.nn.parallel import DistributedDataParallel


def teacher(net):
    model = DistributedDataParallel(net)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.module.requires_grad_(False)
    return model.eval()


class Holder:
    def __init__(self, net):
        self.model = DistributedDataParallel(net)


def hold(net):
    holder = Holder(net)
    for parameter in holder.model.parameters():
        parameter.requires_grad = False
    return holder
