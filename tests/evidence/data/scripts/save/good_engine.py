import deepspeed
import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def main(args, model):
    model_engine, optimizer, _, _ = deepspeed.initialize(model=model, config=args.config)
    model_engine.save_checkpoint(args.output)
    if dist.get_rank() == 0:
        print("saved")
        dcp.save({"step": 1}, checkpoint_id="meta", no_dist=True)
