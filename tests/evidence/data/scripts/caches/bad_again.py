"""Files that are cached are fetched again by all ranks."""

import torch.distributed as dist
from huggingface_hub import hf_hub_download


def weights(repo):
    dist.init_process_group("nccl")
    return hf_hub_download(repo, "model.safetensors", force_download=True)  # distkb: script.downloaded-by-each-rank
