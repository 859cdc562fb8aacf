import torch.distributed as dist
from accelerate import Accelerator

accelerator = Accelerator()
with accelerator.main_process_first():
    dataset = open("data.txt").read()

with accelerator.local_main_process_first():
    tokens = dataset.split()

accelerator.wait_for_everyone()
if accelerator.is_main_process:
    print(len(tokens))
