"""A stream that is divided over workers only, and a sampler that knows nothing of tensor parallelism."""

from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        info = get_worker_info()  # distkb: script.stream-not-divided
        files = self.files if info is None else self.files[info.id :: info.num_workers]
        for name in files:
            yield from open(name)


def main(net, files):
    model = DistributedDataParallel(net)
    for lines in DataLoader(Lines(files), batch_size=8, num_workers=2):
        model(lines).sum().backward()
