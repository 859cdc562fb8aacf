"""Language experts: the set of languages goes through a constructor."""

import torch
import torch.distributed as dist


class Experts(torch.nn.Module):
    def __init__(self, languages, layout):
        super().__init__()
        self.languages = languages
        self.layout = layout
        self.groups = {}

    def connect(self):
        for language in self.languages:  # distkb: script.groups-over-set
            self.groups[language] = dist.new_group(self.layout[language])

    def sync(self, heads):
        for language, group in sorted(self.groups.items()):
            dist.all_reduce(heads[language], group=group)


def main(corpus, layout):
    dist.init_process_group("gloo")
    seen = {row["lang"] for row in corpus}
    experts = Experts(seen - {"und"}, layout)
    experts.connect()
    return experts
