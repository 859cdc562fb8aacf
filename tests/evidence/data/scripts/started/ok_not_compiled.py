import re

import torch.distributed as dist
from torch import nn

NAME = re.compile("a")


class Net(nn.Module):
    def forward(self, x):
        if dist.get_rank() == 0:
            print(x.shape)
        return x


def main(x):
    dist.init_process_group("gloo")
    Net()(x)
    dist.destroy_process_group()
