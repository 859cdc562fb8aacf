"""One download for each node, or for the job."""

import os

import torch.distributed as dist
from huggingface_hub import snapshot_download
from transformers import AutoModel


def load(repo):
    node = int(os.environ["GROUP_RANK"])
    return snapshot_download(repo, cache_dir=f"/scratch/node{node}")


def again(repo):
    if dist.get_rank() == 0:
        snapshot_download(repo, force_download=True)
    dist.barrier()
    return AutoModel.from_pretrained(repo)
