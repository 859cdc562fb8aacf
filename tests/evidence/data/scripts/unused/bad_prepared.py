"""A frozen autoencoder is prepared."""

from accelerate import Accelerator
import torch
from diffusers import AutoencoderKL, UNet2DConditionModel
from lib import loader

acc = Accelerator()
vae = AutoencoderKL.from_pretrained("x", subfolder="vae")
vae.requires_grad_(False)
unet = UNet2DConditionModel.from_pretrained("x", subfolder="unet")
opt = torch.optim.AdamW(unet.parameters(), 1e-5)
unet, vae, opt, loader = acc.prepare(unet, vae, opt, loader)  # distkb: script.frozen-model-wrapped
for b in loader:
    with torch.no_grad():
        lat = vae.encode(b["img"]).latent_dist.sample()
    acc.backward(unet(lat, b["t"], b["c"]).sample.mean())
    opt.step()
    opt.zero_grad()
