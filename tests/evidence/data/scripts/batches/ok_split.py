from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader


def main(rows, size):
    accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(split_batches=True))
    loader = accelerator.prepare(DataLoader(rows, batch_size=size * accelerator.num_processes, shuffle=True))
    for batch in loader:
        accelerator.print(batch)
