"""The weights stay in full precision."""

import torch, os
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
from transformers import AutoModelForCausalLM
from lib import loader, policy


class Job:
    def __init__(self, cfg):
        self.dtype = torch.bfloat16
        model = AutoModelForCausalLM.from_pretrained(cfg["name"])
        mp = MixedPrecision(param_dtype=self.dtype, reduce_dtype=self.dtype)
        self.model = FSDP(model, auto_wrap_policy=policy, mixed_precision=mp, device_id=torch.cuda.current_device())
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-5)

    def run(self):
        for b in loader():
            self.model(**b).loss.backward()
            self.opt.step()
            self.opt.zero_grad()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
Job({"name": "mistralai/Mistral-7B-v0.1"}).run()
