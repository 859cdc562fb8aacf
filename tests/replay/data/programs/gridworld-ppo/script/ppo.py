import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP

import runboard
from env import GridWorld


class ActorCritic(nn.Module):
    def __init__(self, obs=6, hidden=48, actions=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi, self.v = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


class PPO:
    def __init__(self, args, rank):
        self.a = args
        self.env = GridWorld(args.envs, seed=100 + rank)
        self.net = DDP(ActorCritic())
        self.opt = torch.optim.Adam(self.net.parameters(), lr=args.lr)

    @torch.no_grad()
    def collect(self):
        buf, x = [], self.env.obs()
        for _ in range(self.a.horizon):
            logits, v = self.net.module(x)
            d = Categorical(logits=logits)
            act = d.sample()
            nx, r, done = self.env.step(act)
            buf.append((x, act, d.log_prob(act), v, r, done))
            x = nx
        nv, adv, out = self.net.module(x)[1], 0.0, []
        for x, act, lp, v, r, done in reversed(buf):
            delta = r + 0.97 * nv * (1 - done) - v
            adv = delta + 0.97 * 0.95 * (1 - done) * adv
            out.append((x, act, lp, adv, adv + v))
            nv = v
        reward = torch.stack([b[4] for b in buf]).sum() / torch.stack([b[5] for b in buf]).sum().clamp(min=1)
        return [torch.cat(c) for c in zip(*out)], reward

    def update(self):
        (x, act, lp, adv, ret), reward = self.collect()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        for _ in range(self.a.epochs):
            for idx in torch.randperm(len(x)).chunk(4):
                logits, v = self.net(x[idx])
                d = Categorical(logits=logits)
                ratio = (d.log_prob(act[idx]) - lp[idx]).exp()
                gain = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
                loss = -gain + 0.5 * (v - ret[idx]).pow(2).mean() - 0.01 * d.entropy().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        stats = torch.stack([reward, loss.detach()])
        dist.all_reduce(stats)
        return (stats / dist.get_world_size()).tolist()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=40)
    p.add_argument("--envs", type=int, default=32)
    p.add_argument("--horizon", type=int, default=32)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--name", default="grid6")
    args = p.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    logging.basicConfig(filename=f"logs/ppo.{rank}.log", filemode="w", level=logging.INFO,
                        format="%(asctime)s %(name)s %(message)s")
    log = logging.getLogger("ppo")
    log.info("rank %d of %d, pid %d, %s", rank, dist.get_world_size(), os.getpid(), vars(args))

    board = runboard.Run("gridworld", f"{args.name}-{rank}", vars(args))
    agent = PPO(args, rank)
    log.info("model ready, %d parameters", sum(q.numel() for q in agent.net.parameters()))
    for u in range(1, args.updates + 1):
        reward, loss = agent.update()
        board.log(u, reward=reward, loss=loss)
        if u % 5 == 0:
            log.info("update %d reward/episode %.3f loss %.4f", u, reward, loss)
    log.info("finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
