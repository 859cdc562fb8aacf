"""REINFORCE with a value baseline; every process plays its own grids."""
import datetime
import os
import time

import torch
import torch.distributed as dist
import yaml
from torch import nn

from gridworld import GridWorld


class Policy(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 4)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h), self.v(h).squeeze(-1)


class Learner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank = int(os.environ["RANK"])
        self.world = int(os.environ["WORLD_SIZE"])

    def connect(self):
        c = self.cfg["cluster"]
        print(f"learner {self.rank}/{self.world} pid {os.getpid()} joining {c['host']}:{c['port']}", flush=True)
        dist.init_process_group(
            c["backend"],
            init_method=f"tcp://{c['host']}:{c['port']}",
            rank=self.rank,
            world_size=self.world,
            timeout=datetime.timedelta(minutes=10),
        )

    def build(self):
        t = self.cfg["train"]
        torch.manual_seed(3)
        self.net = Policy(t["hidden"])
        self.ddp = nn.parallel.DistributedDataParallel(self.net)
        self.opt = torch.optim.Adam(self.ddp.parameters(), lr=t["lr"])
        e = self.cfg["env"]
        gen = torch.Generator().manual_seed(100 + self.rank)
        torch.manual_seed(1000 + self.rank)
        self.world_env = GridWorld(e["parallel"], e["size"], e["max_steps"], gen)

    def rollout(self):
        env, traj = self.world_env, []
        obs = env.reset()
        for _ in range(env.max_steps):
            with torch.no_grad():
                logits, _ = self.net(obs)
            action = torch.distributions.Categorical(logits=logits).sample()
            nxt, reward, alive = env.step(action)
            traj.append((obs, action, reward, alive))
            obs = nxt
        return [torch.stack(x) for x in zip(*traj)], env.done.float().mean()

    def update(self):
        t = self.cfg["train"]
        (obs, act, rew, alive), solved = self.rollout()
        ret, acc = torch.zeros_like(rew), torch.zeros(rew.size(1))
        for k in reversed(range(rew.size(0))):
            acc = rew[k] + t["gamma"] * acc
            ret[k] = acc
        logits, value = self.ddp(obs.flatten(0, 1))
        d = torch.distributions.Categorical(logits=logits)
        ret, m = ret.flatten(), alive.flatten().float()
        adv = ret - value.detach()
        pg = -(d.log_prob(act.flatten()) * adv * m).sum() / m.sum()
        vl = ((value - ret).pow(2) * m).sum() / m.sum()
        ent = (d.entropy() * m).sum() / m.sum()
        loss = pg + 0.5 * vl - t["entropy"] * ent
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return torch.stack([rew.sum(0).mean(), solved, ent.detach()])

    def run(self):
        self.connect()
        self.build()
        start = time.time()
        for u in range(1, self.cfg["train"]["updates"] + 1):
            stats = self.update()
            if u % self.cfg["train"]["report_every"] == 0:
                dist.all_reduce(stats)
                stats /= self.world
                if self.rank == 0:
                    print(f"update {u:4d}  return {stats[0]:+.3f}  solved {stats[1]:.2f}  "
                          f"entropy {stats[2]:.3f}  {time.time() - start:.1f}s", flush=True)
        if self.rank == 0:
            torch.save(self.net.state_dict(), "policy.pt")
            print("saved policy.pt", flush=True)
        dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "settings.yaml")) as f:
        Learner(yaml.safe_load(f)).run()
