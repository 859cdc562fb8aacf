"""Numbers that follow the order of a set of strings."""

import torch.distributed as dist


class Words:
    def __init__(self, lines):
        known = {word for line in lines for word in line.split()}
        self.ids = {}
        for word in known:  # distkb: script.numbered-by-set
            self.ids[word] = len(self.ids)


def classes(rows):
    names = list(set(row["name"] for row in rows))
    return {name: number for number, name in enumerate(names)}  # distkb: script.numbered-by-set


def main(rows, lines):
    dist.init_process_group("nccl")
    table = {}
    for number, name in enumerate(frozenset(row["city"] for row in rows)):  # distkb: script.numbered-by-set
        table[name] = number
    found = Words(lines), classes(rows), table
    dist.destroy_process_group()
    return found
