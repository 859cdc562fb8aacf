"""One backward for each update, or a number of them that is one."""

from torch.nn.parallel import DistributedDataParallel

ACCUM = 1


def train(net, loader, optimizer, log):
    model = DistributedDataParallel(net)
    for i, x in enumerate(loader):
        model(x).mean().backward()
        if (i + 1) % ACCUM == 0:
            optimizer.step()
            optimizer.zero_grad()


def plain(net, loader, optimizer, log):
    model = DistributedDataParallel(net)
    for i, x in enumerate(loader):
        model(x).mean().backward()
        optimizer.step()
        if i % 100 == 0:
            log(i)
