from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def main(build, net, rank, world_size):
    dataset = build(rank, world_size)
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    model = DDP(net)
    for batch in loader:
        model(batch)
