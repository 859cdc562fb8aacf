import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def in_turn(net, loader):
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for one, other in loader:
        model(one).square().mean().backward()
        model(other).abs().mean().backward()
        optimizer.step()


def arms(net, loader, flag):
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for one in loader:
        loss = model(one).square().mean()
        if flag:
            loss.backward()
        else:
            (2 * loss).backward()
        optimizer.step()


def gan(maker, judge, loader):
    maker, judge = DDP(maker), DDP(judge)
    for real in loader:
        fake = maker(real)
        (judge(real) - judge(fake.detach())).mean().backward()
        judge(fake).mean().backward()


def alone(net, loader):
    for one in loader:
        out = net(one)
        out.mean().backward(retain_graph=True)
        out.std().backward()
