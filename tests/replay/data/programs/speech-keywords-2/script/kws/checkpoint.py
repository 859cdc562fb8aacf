import logging
import os

import torch
import torch.distributed as dist

log = logging.getLogger("kws.checkpoint")


def _shard(step_dir):
    return os.path.join(step_dir, f"shard_{dist.get_rank():02d}.pt")


def save(run_dir, step, model, optim, sched):
    d = os.path.join(run_dir, f"step_{step:06d}")
    os.makedirs(d, exist_ok=True)
    local = {k: v.to_local() for k, v in model.state_dict().items()}
    moments = []
    for p in optim.param_groups[0]["params"]:
        s = optim.state[p]
        moments.append({"step": s["step"], "exp_avg": s["exp_avg"].to_local(), "exp_avg_sq": s["exp_avg_sq"].to_local()})
    torch.save({"step": step, "model": local, "moments": moments, "sched": sched.state_dict()}, _shard(d))
    dist.barrier()
    if dist.get_rank() == 0:
        with open(os.path.join(run_dir, "latest"), "w") as f:
            f.write(os.path.basename(d))
    log.info("saved %s", d)


def load(run_dir, model, optim, sched):
    mark = os.path.join(run_dir, "latest")
    if not os.path.exists(mark):
        log.info("no checkpoint in %s", run_dir)
        return 0
    d = os.path.join(run_dir, open(mark).read().strip())
    log.info("loading %s", _shard(d))
    ck = torch.load(_shard(d), weights_only=True)
    with torch.no_grad():
        for k, v in model.state_dict().items():
            v.to_local().copy_(ck["model"][k])
        for p, m in zip(optim.param_groups[0]["params"], ck["moments"]):
            optim.state[p] = {
                "step": m["step"],
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }
            optim.state[p]["exp_avg"].to_local().copy_(m["exp_avg"])
            optim.state[p]["exp_avg_sq"].to_local().copy_(m["exp_avg_sq"])
    sched.load_state_dict(ck["sched"])
    return ck["step"]
