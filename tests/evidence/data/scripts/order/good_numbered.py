"""Numbers in a fixed order, that one rank gives, or that nobody keeps."""

import torch.distributed as dist


def classes(rows):
    names = sorted(set(row["name"] for row in rows))
    return {name: number for number, name in enumerate(names)}


def in_place(rows):
    names = list(set(row["name"] for row in rows))
    names.sort()
    return {name: number for number, name in enumerate(names)}


def shown(rows):
    for number, name in enumerate({row["name"] for row in rows}):
        print(number, name)


def sent(rows):
    box = [None]
    if dist.get_rank() == 0:
        box = [number_all(rows)]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def number_all(rows):
    return {name: number for number, name in enumerate({row["name"] for row in rows})}


def sizes(rows):
    count = {}
    for name in {row["name"] for row in rows}:
        count[name] = sum(row["name"] == name for row in rows)
    return count


def main(rows):
    dist.init_process_group("nccl")
    found = classes(rows), in_place(rows), sent(rows), sizes(rows), {n: i for i, n in enumerate({1, 2, 3})}
    shown(rows)
    dist.destroy_process_group()
    return found
