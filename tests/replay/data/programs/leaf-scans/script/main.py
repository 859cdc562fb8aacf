import torch.distributed as dist

from leafseg import Trainer

dist.init_process_group("gloo")
Trainer().fit()
dist.destroy_process_group()
