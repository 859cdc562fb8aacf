import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, args, batch):
    model = DDP(net)
    logits = model(batch)
    torch.save(logits, args.save_logits)
