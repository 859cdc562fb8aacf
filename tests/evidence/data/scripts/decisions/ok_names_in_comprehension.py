import torch
import torch.distributed as dist


class SharedState:
    def __init__(self, parameters):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.moments = []
        for p in self.parameters[dist.get_rank() :: dist.get_world_size()]:
            self.moments.append(torch.zeros_like(p))

    @torch.no_grad()
    def step(self):
        for p, moment in zip(self.parameters[dist.get_rank() :: dist.get_world_size()], self.moments):
            p.add_(moment.lerp_(p.grad, 0.1), alpha=-0.01)
        for index, p in enumerate(self.parameters):
            dist.broadcast(p, src=index % dist.get_world_size())
