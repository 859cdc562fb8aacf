"""Tables whose keys come in one order, whatever fills them afterwards."""

import torch
import torch.distributed as dist

TASKS = ("ner", "pos", "chunk")


def counts(rows):
    table = {}
    for task in TASKS:
        table[task] = 0
    for task in set(rows):
        table[task] = rows.count(task)
    return table


def unordered(rows):
    names = []
    for name in set(rows):
        names.append(name)
    names.sort()
    return names


def main(rows, layout):
    dist.init_process_group("gloo")
    groups = {task: dist.new_group(layout[task]) for task in counts(rows)}
    for name in unordered(rows):
        dist.all_reduce(torch.ones(1), group=groups[name])
    for name in sorted({row for row in rows}):
        parts = []
        for part in TASKS:
            parts.append(part)
        for part in parts:
            dist.all_reduce(torch.ones(1), group=groups[part])
    return groups
