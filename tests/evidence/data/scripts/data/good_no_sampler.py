from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

accelerator = Accelerator()


def main(dataset, net):
    loader = accelerator.prepare(DataLoader(dataset, batch_size=8, shuffle=True))
    model = DDP(net)
    for batch in loader:
        model(batch)
