"""Synchronous actor-learner A2C. The learner holds the optimizer, the actors hold the environments."""
import argparse
import logging
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from agent import Collector, Policy

LEARNER = 0


def get_log(role, logdir):
    log = logging.getLogger(role)
    log.setLevel(logging.INFO)
    fmt = logging.Formatter("%(asctime)s %(name)s %(message)s", "%H:%M:%S")
    for h in (logging.FileHandler(os.path.join(logdir, role + ".log"), mode="w"),
              logging.StreamHandler(sys.stdout)):
        h.setFormatter(fmt)
        log.addHandler(h)
    return log


def learner(args, log, world):
    policy = Policy(args.hidden)
    opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
    log.info("policy has %d parameters", sum(p.numel() for p in policy.parameters()))
    for it in range(args.iters):
        t0 = time.time()
        flat = parameters_to_vector(policy.parameters()).detach()
        dist.broadcast(flat, LEARNER)
        got = [torch.zeros(args.steps, 6) for _ in range(world)]
        dist.gather(torch.zeros(args.steps, 6), got, dst=LEARNER)
        stats = torch.zeros(1)
        dist.reduce(stats, LEARNER)
        batch = torch.cat(got[1:])
        obs, act, ret = batch[:, :4], batch[:, 4], batch[:, 5]
        d, v = policy(obs)
        adv = ret - v.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        loss_pi = -(d.log_prob(act) * adv).mean()
        loss_v = (ret - v).pow(2).mean()
        loss = loss_pi + 0.05 * loss_v - 0.01 * d.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 5 == 0 or it == args.iters - 1:
            log.info("it %3d pi %.4f v %.3f len %.1f %.2fs", it, loss_pi.item(), loss_v.item(),
                     stats.item() / (world - 1), time.time() - t0)
    torch.save(policy.state_dict(), os.path.join(args.logdir, "policy.pt"))
    log.info("saved policy.pt")


def actor(args, log, rank):
    policy = Policy(args.hidden)
    col = Collector(seed=args.seed + rank)
    flat = parameters_to_vector(policy.parameters()).detach()
    for it in range(args.iters):
        dist.broadcast(flat, LEARNER)
        vector_to_parameters(flat, policy.parameters())
        dist.gather(col.rollout(policy, args.steps), dst=LEARNER)
        dist.reduce(torch.tensor([col.mean_len()]), LEARNER)
    log.info("done, %d episodes", len(col.lengths))


def worker(rank, args, world):
    role = "learner" if rank == LEARNER else f"actor{rank}"
    log = get_log(role, args.logdir)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed + rank)
    log.info("pid %d up, joining %s:%s", os.getpid(), os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
    dist.init_process_group("gloo", rank=rank, world_size=world)
    log.info("joined")
    if rank == LEARNER:
        learner(args, log, world)
    else:
        actor(args, log, rank)
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--actors", type=int, default=2)
    ap.add_argument("--iters", type=int, default=40)
    ap.add_argument("--steps", type=int, default=128)
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--seed", type=int, default=3)
    ap.add_argument("--port", default="29731")
    ap.add_argument("--logdir", default="logs")
    args = ap.parse_args()
    os.makedirs(args.logdir, exist_ok=True)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = args.port
    world = args.actors + 1
    print(f"A2C: {args.actors} actors x {args.steps} steps, {args.iters} iterations", flush=True)
    mp.spawn(worker, args=(args, world), nprocs=args.actors)


if __name__ == "__main__":
    main()
