import deepspeed
import torch.distributed as dist


def main(args, model):
    model_engine, optimizer, _, _ = deepspeed.initialize(model=model, config=args.config)
    if dist.get_rank() == 0:
        model_engine.save_checkpoint(args.output)  # distkb: script.save-on-some-ranks
