import os

import torch.distributed as dist

if __name__ == "__main__":
    print("started")
os.environ["MASTER_ADDR"] = "localhost"
os.environ["MASTER_PORT"] = "12355"  # distkb: script.fixed-master-port
os.environ["RANK"] = "0"  # distkb: script.fixed-rank-variable
dist.init_process_group("gloo")  # distkb: script.group-not-destroyed
