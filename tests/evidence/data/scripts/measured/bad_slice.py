import torch
import torch.distributed as dist


def load(path):
    return torch.load(path)


def main(path):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    questions = load(path)
    mine = questions[rank::world]
    hits = 0
    for question in mine:
        hits += int(question["answer"] == question["guess"])
    if rank == 0:
        print("exact match", hits / max(1, len(questions)))  # distkb: script.share-divided-by-whole
    dist.destroy_process_group()
