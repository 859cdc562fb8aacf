"""Shards with a length."""

import webdataset as wds
import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, decode


def loader():
    ds = (
        wds.WebDataset("data/{000..041}.tar", nodesplitter=wds.split_by_node, shardshuffle=True)
        .decode("rgb")
        .to_tuple("jpg", "cls")
        .batched(32)
        .with_epoch(1000)
    )
    return wds.WebLoader(ds, batch_size=None, num_workers=4)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DDP(Net().cuda())
    opt = torch.optim.Adam(model.parameters())
    for ep in range(10):
        for x, y in loader():
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            opt.step()


main()
