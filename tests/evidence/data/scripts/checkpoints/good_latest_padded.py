"""Numbers that are widened before they come into the name, and names that begin with a date."""

import glob
import os
import time

import torch


def save(state, step):
    tag = str(step).zfill(8)
    torch.save(state, f"step_{tag}.pt")
    torch.save(state, f"epoch_{str(step).zfill(4)}.pt")


def save_step(state, step):
    step_text = f"{step:06d}"
    torch.save(state, "iter_" + step_text + ".pt")


def save_dated(state, step):
    torch.save(state, f"{time.strftime('%Y%m%d-%H%M%S')}_model.pt")


def latest(folder):
    return sorted(glob.glob(os.path.join(folder, "step_*.pt")))[-1]


def newest(folder):
    return max(glob.glob(os.path.join(folder, "epoch_*.pt")))


def last(folder):
    names = os.listdir(folder)
    names.sort()
    return names[-1]
