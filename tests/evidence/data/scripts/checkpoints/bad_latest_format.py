"""Bare numbers put into names by `format`, and a list that is sorted where it stands."""

import os

import torch


def save(model, step, folder):
    torch.save(model.state_dict(), os.path.join(folder, "step_{}.pt".format(step)))


def latest(folder):
    names = [name for name in os.listdir(folder) if name.endswith(".pt")]
    names.sort()
    return names[-1]  # distkb: script.checkpoints-sorted-as-text
