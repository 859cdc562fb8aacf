import deepspeed
import torch.distributed as dist

engine, _, _, _ = deepspeed.initialize(model=None)
if dist.get_rank() == 0:
    engine("sample")  # distkb: script.engine-forward-on-some-ranks
