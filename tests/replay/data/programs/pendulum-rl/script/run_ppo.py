"""PPO on pendulum: rank 0 learns, the other ranks collect experience."""
import logging
import os
import time

import torch
import torch.distributed as dist

from env import Pendulum
from policy import Policy, pack, unpack

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
ENVS, HORIZON = 16, 64
ITERS = int(os.environ.get("ITERS", 30))
EVAL_EVERY = 5

log = logging.getLogger("ppo")


@torch.no_grad()
def collect(env, policy):
    """-> [HORIZON, ENVS, 6]: obs(3), action, logp, reward"""
    out = torch.empty(HORIZON, ENVS, 6)
    obs = env.obs()
    for t in range(HORIZON):
        d = policy.dist(obs)
        a = d.sample()
        nxt, r = env.step(a)
        out[t, :, :3], out[t, :, 3], out[t, :, 4], out[t, :, 5] = obs, a, d.log_prob(a), r
        obs = nxt
    return out


@torch.no_grad()
def evaluate(policy, episodes=32):
    env = Pendulum(episodes, seed=999)
    ret = torch.zeros(episodes)
    obs = env.obs()
    for _ in range(400):
        obs, r = env.step(policy.dist(obs).mean)
        ret += r
    return ret.mean().item()


def update(policy, opt, batch, gamma=0.97, epochs=6, clip=0.2):
    obs, act, logp, rew = batch[..., :3], batch[..., 3], batch[..., 4], batch[..., 5] / 8
    with torch.no_grad():
        ret = torch.empty_like(rew)
        run = policy.value(obs[-1])
        for t in reversed(range(rew.size(0))):
            run = rew[t] + gamma * run
            ret[t] = run
        adv = ret - policy.value(obs)
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    for _ in range(epochs):
        d = policy.dist(obs)
        ratio = (d.log_prob(act) - logp).exp()
        pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        vl = (policy.value(obs) - ret).pow(2).mean()
        loss = pg + 0.5 * vl
        opt.zero_grad()
        loss.backward()
        opt.step()
    return pg.item(), vl.item()


def publish(policy):
    """Hand the new weights to the actors without holding up the learner."""
    weights = pack(policy)
    for a in range(1, WORLD):
        dist.isend(weights, dst=a)


def learner(policy):
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    bufs = [torch.empty(HORIZON, ENVS, 6) for _ in range(1, WORLD)]
    for it in range(ITERS):
        t0 = time.time()
        for a, buf in enumerate(bufs, start=1):
            dist.recv(buf, src=a)
        pg, vl = update(policy, opt, torch.cat(bufs, dim=1))
        publish(policy)
        rew = sum(b[..., 5].mean().item() for b in bufs) / len(bufs)
        log.info("iter %d reward %.3f pg %.4f vf %.4f std %.3f (%.2fs)", it, rew, pg, vl, policy.log_std.exp().item(), time.time() - t0)
    torch.save(policy.state_dict(), "policy.pt")
    log.info("saved policy.pt")


def actor(policy):
    env = Pendulum(ENVS, seed=RANK)
    vec = pack(policy)
    for it in range(ITERS):
        if it % 10 == 0:
            env.reset()
        traj = collect(env, policy)
        dist.send(traj, dst=0)
        if (it + 1) % EVAL_EVERY == 0:
            log.info("iter %d steps %d eval return %.1f", it, (it + 1) * ENVS * HORIZON, evaluate(policy))
        dist.recv(vec, src=0)
        unpack(policy, vec)
    log.info("collected %d steps", ITERS * ENVS * HORIZON)


def main():
    role = "learner" if RANK == 0 else f"actor{RANK}"
    os.makedirs(os.environ.get("LOGDIR", "logs"), exist_ok=True)
    logging.basicConfig(filename=os.path.join(os.environ.get("LOGDIR", "logs"), f"{role}.log"), filemode="w", level=logging.INFO,
                        format=f"%(asctime)s [{role}] %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=RANK, world_size=WORLD)
    torch.manual_seed(RANK)
    policy = Policy()
    for p in policy.parameters():
        dist.broadcast(p.data, src=0)
    log.info("pid %d ready, %d parameters", os.getpid(), sum(p.numel() for p in policy.parameters()))
    learner(policy) if RANK == 0 else actor(policy)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
