import os

import torch.distributed as dist

os.environ.setdefault("MASTER_PORT", "12355")
if "RANK" not in os.environ:
    os.environ["RANK"] = "0"
    os.environ["WORLD_SIZE"] = "1"
dist.init_process_group("gloo")
dist.destroy_process_group()
