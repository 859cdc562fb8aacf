"""Every process makes a data set of its own, so that nothing has to divide the loader."""

from accelerate import Accelerator
import torch
from torch.utils.data import DataLoader, TensorDataset
from mod import make_model


def simulate(frames, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(frames, 8, generator=generator)
    return x, x.sum(1, keepdim=True)


def main(seed):
    accelerator = Accelerator()
    data = TensorDataset(*simulate(4096, seed + accelerator.process_index))
    loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
    model = make_model()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, opt = accelerator.prepare(model, opt)
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()


main(0)
