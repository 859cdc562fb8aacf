"""Bare numbers in names, and lists that are sorted by these numbers where they stand."""

import os

import torch


def save(model, step, folder):
    torch.save(model.state_dict(), os.path.join(folder, "step_{}.pt".format(step)))


def latest(folder):
    names = os.listdir(folder)
    names.sort(key=lambda name: int(name[5:-3]))
    return names[-1]


def first(folder):
    names = os.listdir(folder)
    names.sort()
    return names[0]
