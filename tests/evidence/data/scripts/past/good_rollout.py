"""The bare model plays without gradients, and what it met is learnt by the wrapped one."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Actor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x)


def play(env, actor, seen, length):
    states, actions = [], []
    for _ in range(length):
        with torch.no_grad():
            logits = actor(seen)
        action = torch.distributions.Categorical(logits=logits).sample()
        states.append(seen)
        actions.append(action)
        seen = env.step(action)
    return seen, torch.cat(states), torch.cat(actions)


def main(env):
    dist.init_process_group("gloo")
    actor = DistributedDataParallel(Actor())
    opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    seen = env.reset()
    for _ in range(10):
        seen, states, actions = play(env, actor.module, seen, 32)
        loss = torch.nn.functional.cross_entropy(actor(states), actions)
        opt.zero_grad()
        loss.backward()
        opt.step()
    dist.destroy_process_group()
