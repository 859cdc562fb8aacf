"""Sets that are sorted first, hold numbers, or decide only who is in."""

import torch
import torch.distributed as dist


class Experts:
    def __init__(self, languages, layout):
        self.groups = {}
        for language in languages:
            self.groups[language] = dist.new_group(sorted(set(layout[language])))


def stages(table):
    made = {}
    for stage in {0, 1, 2}:
        made[stage] = dist.new_group(table[stage])
    for stage in set(range(3)):
        made[stage] = dist.new_group(table[stage])
    return made


def local(names, layout):
    return [dist.new_group(layout[name], use_local_synchronization=True) for name in set(names)]


def main(corpus, layout):
    dist.init_process_group("gloo")
    seen = {row["lang"] for row in corpus}
    known = [name for name in layout if name in seen]
    return Experts(sorted(seen), layout), Experts(known, layout)
