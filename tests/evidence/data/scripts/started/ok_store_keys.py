import os

import torch.distributed as dist


def exchange(rank, world, port):
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    store = dist.TCPStore("a", int(os.environ["MASTER_PORT"]), is_master=False)
    store.set(f"{attempt}/port/{rank}", str(port))
    return [store.get(f"{attempt}/port/{r}").decode() for r in range(world)]
