import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def save(model):
    if dist.get_rank() == 0:
        dcp.save({"model": model.state_dict()}, checkpoint_id="last")  # distkb: script.save-on-some-ranks
