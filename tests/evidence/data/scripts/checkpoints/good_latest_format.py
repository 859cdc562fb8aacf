"""Numbers of a fixed width put into names in the older ways, and lists sorted by number where they stand."""

import glob
import os

import torch


def save(model, step, folder):
    torch.save(model.state_dict(), os.path.join(folder, "step_{:06d}.pt".format(step)))


def save_state(state, epoch, folder):
    torch.save(state, "%s/state_epoch%04d.pt" % (folder, epoch))


def save_named(model, name, folder):
    torch.save(model, folder + "/model_" + str(name) + ".pt")


def latest(folder):
    names = os.listdir(folder)
    names.sort()
    return names[-1]


def latest_state(folder):
    return max(glob.glob(folder + "/state_epoch*.pt"))
