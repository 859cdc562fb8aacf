import torch.distributed as dist


def predict(files, model):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine = files[rank::world_size]
    for file in mine:
        model(file)


def train(samples, model):
    for batch in samples[::2]:
        model(batch).backward()
