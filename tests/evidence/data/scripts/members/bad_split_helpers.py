import torch.distributed as dist


class Roles:
    def __init__(self, n_servers):
        self.rank = dist.get_rank()
        self.servers = list(range(dist.get_world_size() - n_servers, dist.get_world_size()))
        self.workers = dist.new_group([r for r in range(dist.get_world_size()) if r not in self.servers])

    def is_server(self):
        return self.rank in self.servers
