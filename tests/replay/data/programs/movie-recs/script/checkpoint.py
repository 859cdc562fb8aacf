from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType


class Checkpointer:
    """weights: one full file written by rank 0; optimizer: every rank writes what it holds."""

    def __init__(self, folder):
        self.dir = Path(folder)
        self.dir.mkdir(parents=True, exist_ok=True)

    def save(self, model, opt, step):
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
            weights = model.state_dict()
        if dist.get_rank() == 0:
            torch.save({"model": weights, "step": step}, self.dir / "model.pt")
        torch.save(opt.state_dict(), self.dir / f"optim_rank{dist.get_rank()}.pt")
        dist.barrier()

    def load(self, model, opt):
        ck = torch.load(self.dir / "model.pt", weights_only=True)
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
            model.load_state_dict(ck["model"])
        saved = torch.load(self.dir / f"optim_rank{dist.get_rank()}.pt", weights_only=True)
        restored = self._restore(opt, saved)
        return ck["step"], restored

    @staticmethod
    def _restore(opt, saved):
        params = [p for g in opt.param_groups for p in g["params"]]
        fits = {i: s for i, s in saved["state"].items() if s["exp_avg"].shape == params[i].shape}
        opt.load_state_dict({"state": fits, "param_groups": saved["param_groups"]})
        return len(fits)
