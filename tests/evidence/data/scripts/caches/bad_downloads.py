"""Every rank fetches the model for itself."""

import os

import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_dataset
from huggingface_hub import snapshot_download
from transformers import AutoModel


def load(accelerator, repo):
    cache = os.path.join(os.environ["SCRATCH"], f"p{accelerator.process_index}")
    path = snapshot_download(repo, cache_dir=cache)  # distkb: script.cache-of-each-rank
    return path


class Source:
    def __init__(self, root):
        self.folder = f"{root}/rank{dist.get_rank()}"

    def model(self, name):
        return AutoModel.from_pretrained(name, cache_dir=self.folder)  # distkb: script.cache-of-each-rank


def main():
    os.environ["HF_HOME"] = "/scratch/hf_" + os.environ["RANK"]  # distkb: script.cache-of-each-rank
    accelerator = Accelerator()
    data = load_dataset("imdb", download_mode="force_redownload")  # distkb: script.downloaded-by-each-rank
    return load(accelerator, "gpt2"), data
