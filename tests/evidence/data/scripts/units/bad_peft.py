"""LoRA in whole layers."""

import torch, os
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer
from peft import LoraConfig, get_peft_model
import functools
from lib import loader


def build():
    base = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3-8B")
    model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    return FSDP(model, auto_wrap_policy=policy, device_id=torch.cuda.current_device())  # distkb: script.frozen-and-trained-in-unit


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
m = build()
opt = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad])
for b in loader():
    m(**b).loss.backward()
    opt.step()
    opt.zero_grad()
