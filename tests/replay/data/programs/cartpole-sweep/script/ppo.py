import argparse
import json
import logging
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from envs import Pole

log = logging.getLogger("ppo")


class Agent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.pi = nn.Linear(width, 2)
        self.v = nn.Linear(width, 1)

    def forward(self, s):
        h = self.body(s)
        return self.pi(h), self.v(h).squeeze(-1)


def rollout(env, agent, obs, T, lengths):
    S, A, D, LP, V = [], [], [], [], []
    for _ in range(T):
        with torch.no_grad():
            logits, v = agent(torch.from_numpy(obs))
        d = torch.distributions.Categorical(logits=logits)
        a = d.sample()
        S.append(torch.from_numpy(obs)); A.append(a); LP.append(d.log_prob(a)); V.append(v)
        obs, done, ended = env.step(a.numpy())
        lengths.extend(ended.tolist())
        D.append(torch.from_numpy(done.astype(np.float32)))
    with torch.no_grad():
        _, last = agent(torch.from_numpy(obs))
    R, ret = [], last
    for d in reversed(D):
        ret = 1.0 + 0.98 * ret * (1 - d)
        R.append(ret)
    R.reverse()
    cat = torch.cat
    return obs, cat(S), cat(A), cat(LP), cat(V), cat(R)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--clip", type=float, default=0.2)
    ap.add_argument("--width", type=int, default=32)
    ap.add_argument("--iters", type=int, default=40)
    ap.add_argument("--minibatches", type=int, default=8)
    args = ap.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format="%(asctime)s %(levelname)s %(name)s %(message)s")
    torch.manual_seed(rank)
    agent = DDP(Agent(args.width))
    opt = torch.optim.Adam(agent.parameters(), lr=args.lr)
    env = Pole(16, seed=rank)
    obs = env.s.astype(np.float32)
    lengths = []
    log.info("start world=%d %s", world, vars(args))
    for it in range(args.iters):
        t0 = time.time()
        obs, S, A, LP, V, R = rollout(env, agent.module, obs, 32, lengths)
        adv = R - V
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        for epoch in range(4):
            for mb, idx in enumerate(torch.randperm(len(S)).chunk(args.minibatches)):
                logits, v = agent(S[idx])
                d = torch.distributions.Categorical(logits=logits)
                ratio = (d.log_prob(A[idx]) - LP[idx]).exp()
                a = adv[idx]
                pg = -torch.min(ratio * a, ratio.clamp(1 - args.clip, 1 + args.clip) * a).mean()
                vf = 0.5 * (v - R[idx]).pow(2).mean()
                ent = d.entropy().mean()
                loss = pg + 0.05 * vf - 0.01 * ent
                opt.zero_grad()
                loss.backward()
                gn = nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                opt.step()
                log.info("it %d ep %d mb %d pg %.4f vf %.3f ent %.3f gn %.3f ratio %.3f..%.3f",
                         it, epoch, mb, pg.item(), vf.item(), ent.item(), gn.item(),
                         ratio.min().item(), ratio.max().item())
        stat = torch.tensor([float(sum(lengths[-50:])), float(len(lengths[-50:]))])
        dist.all_reduce(stat)
        if rank == 0:
            mean_len = (stat[0] / stat[1].clamp(min=1)).item()
            print(json.dumps({"iter": it, "len": round(mean_len, 1), "sec": round(time.time() - t0, 2)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
