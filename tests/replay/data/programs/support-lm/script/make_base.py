"""Writes base/ : a GPT-2 shaped starting point over bytes, stored in bf16."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
cfg = GPT2Config(
    vocab_size=8192, n_positions=256, n_embd=768, n_layer=6, n_head=12,
    bos_token_id=256, eos_token_id=256, tie_word_embeddings=False,
)
m = GPT2LMHeadModel(cfg).to(torch.bfloat16)
print(f"{sum(p.numel() for p in m.parameters())/1e6:.0f} M parameters")
m.save_pretrained("base", max_shard_size="50MB")
