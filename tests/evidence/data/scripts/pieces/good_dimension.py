"""Names are sorted by dimension before the wrap; behind it only the name is asked for."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(net):
    dist.init_process_group("nccl")
    matrices = {n for n, p in net.named_parameters() if p.dim() >= 2}
    model = FSDP(net, use_orig_params=True)
    decay = [p for n, p in model.named_parameters() if n.replace("_fsdp_wrapped_module.", "") in matrices]
    rest = [p for n, p in model.named_parameters() if "bias" in n or "norm" in n]
    for p in model.parameters():
        assert p.ndim == 1
    with FSDP.summon_full_params(model):
        print(sum(p.norm() for p in model.parameters() if p.dim() > 1))
    print(sum(p.numel() for p in model.parameters() if p.numel() > 0))
    return torch.optim.AdamW([{"params": decay}, {"params": rest, "weight_decay": 0.0}])
