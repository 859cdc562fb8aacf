from torch.distributed.fsdp import fully_shard


def main(model):
    fully_shard(model)  # distkb: script.fully-shard-root-only
    return model
