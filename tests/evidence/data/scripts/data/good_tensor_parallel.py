from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def main(dataset, net):
    mesh = init_device_mesh("cuda", (1, 2))
    model = DDP(net, device_mesh=mesh)
    for batch in DataLoader(dataset, batch_size=8, shuffle=True):
        model(batch)
