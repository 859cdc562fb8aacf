import torch
import torch.nn as nn
from torch.distributions import Categorical

from balance import CartPole


class Policy(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(CartPole.obs_dim, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, CartPole.n_actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Collector:
    """Keeps an environment alive between calls and returns [steps, obs + action + return]."""

    def __init__(self, seed, gamma=0.99):
        self.env = CartPole(seed)
        self.obs = self.env.reset()
        self.gamma = gamma
        self.lengths, self.cur = [], 0

    @torch.no_grad()
    def rollout(self, policy, steps):
        obs, acts, rews, dones = [], [], [], []
        for _ in range(steps):
            o = torch.tensor(self.obs)
            d, _v = policy(o)
            a = d.sample().item()
            self.obs, r, done = self.env.step(a)
            self.cur += 1
            obs.append(o); acts.append(a); rews.append(r); dones.append(done)
            if done:
                self.lengths.append(self.cur)
                self.cur = 0
                self.obs = self.env.reset()
        ret, out = 0.0, []
        if not dones[-1]:
            ret = policy(torch.tensor(self.obs))[1].item()
        for r, d in zip(reversed(rews), reversed(dones)):
            ret = r + (0.0 if d else self.gamma * ret)
            out.append(ret)
        out.reverse()
        return torch.cat([torch.stack(obs), torch.tensor(acts).float()[:, None],
                          torch.tensor(out)[:, None]], 1)

    def mean_len(self):
        last = self.lengths[-20:]
        return sum(last) / max(1, len(last))
