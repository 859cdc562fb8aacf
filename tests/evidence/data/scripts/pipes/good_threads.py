"""Pipes of all ranks that are read beside one another."""

import os
import subprocess
import threading

import torch


def follow(rank, pipe):
    for line in pipe:
        print(rank, line, end="")


def start(command):
    procs, threads = [], []
    for rank in range(torch.cuda.device_count()):
        env = dict(os.environ, RANK=str(rank))
        proc = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        thread = threading.Thread(target=follow, args=(rank, proc.stdout), daemon=True)
        thread.start()
        procs.append(proc)
        threads.append(thread)
    return [proc.wait() for proc in procs]
