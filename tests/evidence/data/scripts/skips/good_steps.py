"""Steps that every rank makes, or that all of them leave out."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def agreed(model, loader, optimizer):
    for batch in loader:
        loss = model(batch).mean()
        bad = (~torch.isfinite(loss)).float()
        dist.all_reduce(bad)
        if bad.item() > 0:
            continue
        loss.backward()
        optimizer.step()


def ends(model, loader, optimizer):
    for batch in loader:
        try:
            model(batch).mean().backward()
        except RuntimeError:
            print(batch.shape)
            raise
        optimizer.step()


def with_zero(model, loader, optimizer):
    for batch in loader:
        try:
            loss = model(batch).mean()
            loss.backward()
        except torch.cuda.OutOfMemoryError:
            (model(batch[:1]).mean() * 0).backward()
        optimizer.step()


def interrupted(model, loader, optimizer):
    try:
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
    except Exception as error:
        print("training ended", error)
        raise


def always_called(text, photo, batch):
    return text(batch["title"]) + photo(batch["photo"]) * batch["has_photo"].float().unsqueeze(1)


def main(loader):
    model = DDP(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for run in (agreed, ends, with_zero, interrupted):
        run(model, loader, optimizer)
    always_called(model, DDP(torch.nn.Linear(8, 8)), next(iter(loader))).mean().backward()
