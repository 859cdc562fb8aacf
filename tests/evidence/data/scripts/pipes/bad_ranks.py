"""Ranks that are started with pipes, of which one is read at a time."""

import os
import subprocess
import sys
from subprocess import PIPE, Popen

import torch

WORLD = torch.cuda.device_count()


def variables(rank):
    return dict(os.environ, RANK=str(rank), WORLD_SIZE=str(WORLD), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")


def first_only(command):
    procs = []
    for rank in range(WORLD):
        proc = subprocess.Popen(command, env=variables(rank), stdout=subprocess.PIPE, text=True)  # distkb: script.pipe-not-emptied
        procs.append(proc)
    for line in procs[0].stdout:
        sys.stdout.write(line)
    return [proc.wait() for proc in procs]


def one_after_the_other(command):
    procs = [Popen(command, env=variables(rank), stdout=PIPE, stderr=PIPE) for rank in range(WORLD)]  # distkb: script.pipe-not-emptied
    return [proc.communicate() for proc in procs]


def waited_for(command):
    procs = {}
    for rank in range(WORLD):
        procs[rank] = Popen(command, env=variables(rank), stderr=PIPE)  # distkb: script.pipe-not-emptied
    for rank, proc in procs.items():
        if proc.wait() != 0:
            print(rank, proc.stderr.read())


class Job:
    def __init__(self, command):
        self.command = command
        self.procs = []

    def start_one(self, rank):
        return Popen(self.command, env=variables(rank), stdout=PIPE, stderr=subprocess.STDOUT)  # distkb: script.pipe-not-emptied

    def start(self):
        for rank in range(WORLD):
            self.procs.append((rank, self.start_one(rank)))

    def finish(self):
        while any(proc.poll() is None for _, proc in self.procs):
            pass
        return [proc.stdout.read() for _, proc in self.procs]
