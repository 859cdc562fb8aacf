"""Bare numbers put into names by a sum and by `%`."""

import glob

import torch


def save(model, epoch, folder):
    torch.save(model.state_dict(), folder + "/epoch_" + str(epoch) + ".pt")


def save_optimizer(optimizer, epoch, folder):
    path = "%s/optim_epoch%d.pt" % (folder, epoch)
    torch.save(optimizer.state_dict(), path)


def latest(folder):
    return max(glob.glob(folder + "/epoch_*.pt"))  # distkb: script.checkpoints-sorted-as-text


def latest_optimizer(folder):
    return sorted(glob.glob("optim_epoch*.pt", root_dir=folder))[-1]  # distkb: script.checkpoints-sorted-as-text
