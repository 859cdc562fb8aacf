"""Orders that mind the numbers: a width of its own, a key, another family of names."""

import glob
import os
import re

import torch


def save(model, step, folder):
    torch.save(model.state_dict(), f"{folder}/step_{step:08d}.pt")


def export(model, name):
    torch.save(model, f"model_{name}.pt")


def latest(folder):
    return sorted(glob.glob(f"{folder}/step_*.pt"))[-1]


def by_number(folder):
    return max(glob.glob(f"{folder}/*.pt"), key=lambda name: int(re.findall(r"\d+", name)[-1]))


def by_time(folder):
    return sorted(os.listdir(folder), key=os.path.getmtime)[-1]
