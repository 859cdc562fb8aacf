import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM
from transformers.utils import logging as hf_logging

from memory import private_mib
from tickets import batches

log = logging.getLogger("finetune")


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--base", default="base")
    ap.add_argument("--steps", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=1)
    ap.add_argument("--length", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    return ap.parse_args()


def load_base(path):
    t0 = time.time()
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    model.config.use_cache = False
    model.requires_grad_(False)
    model.transformer.h[-1].requires_grad_(True)
    return model, time.time() - t0


def shard(model, mesh):
    full = model.state_dict() if dist.get_rank() == 0 else {}
    model.to("meta")
    for part in (*model.transformer.h, model.transformer.wte, model.lm_head):
        fully_shard(part, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    set_model_state_dict(
        model, full, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    )
    return model


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    hf_logging.set_verbosity_error()
    hf_logging.disable_progress_bar()
    torch.manual_seed(0)
    model, seconds = load_base(args.base)

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    log.info("[rank %d] base read in %.1f s, host memory %.0f MiB", rank, seconds, private_mib())

    mesh = init_device_mesh("cpu", (world,))
    model = shard(model, mesh)
    log.info("[rank %d] sharded over %d, host memory %.0f MiB", rank, world, private_mib())

    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    stream = batches(rank, world, args.batch_size, args.length)
    for step in range(1, args.steps + 1):
        ids = next(stream)
        loss = model(input_ids=ids, labels=ids.masked_fill(ids == 256, -100)).loss
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        if rank == 0 and step % 2 == 0:
            log.info("step %d loss %.4f host memory %.0f MiB", step, loss.item(), private_mib())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
