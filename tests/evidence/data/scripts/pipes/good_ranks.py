"""Ranks whose output goes to files or nowhere, and processes that run one at a time."""

import os
import subprocess
import sys
from subprocess import PIPE, Popen

import torch

WORLD = torch.cuda.device_count()


def variables(rank):
    return dict(os.environ, RANK=str(rank), WORLD_SIZE=str(WORLD))


def to_files(command):
    procs = []
    for rank in range(WORLD):
        log = open(f"rank{rank}.log", "w")
        procs.append(subprocess.Popen(command, env=variables(rank), stdout=log, stderr=subprocess.STDOUT))
    return [proc.wait() for proc in procs]


def first_by_pipe(command):
    procs = []
    for rank in range(WORLD):
        out = PIPE if rank == 0 else subprocess.DEVNULL
        procs.append(Popen(command, env=variables(rank), stdout=out, text=True))
    for line in procs[0].stdout:
        sys.stdout.write(line)
    return [proc.wait() for proc in procs]


def inherited(command):
    procs = [Popen(command, env=variables(rank)) for rank in range(WORLD)]
    return [proc.wait() for proc in procs]


def sweep(commands):
    for command in commands:
        proc = Popen(command, stdout=PIPE, stderr=PIPE)
        out, _ = proc.communicate()
        print(out)


def revision():
    proc = Popen(["git", "rev-parse", "HEAD"], stdout=PIPE)
    proc.wait()
    return proc.stdout.read()
