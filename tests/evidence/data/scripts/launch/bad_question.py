"""Questions on the terminal in a job of several ranks, asked in helpers and methods."""

import getpass
import os
import shutil
import sys

import click
import torch.distributed as dist


def agrees(question):
    return input(question).lower() == "y"  # distkb: script.question-left


class Runs:
    def __init__(self, folder):
        self.folder = folder

    def begin(self):
        if os.path.exists(self.folder) and click.confirm("clear it?"):  # distkb: script.question-left
            shutil.rmtree(self.folder, ignore_errors=True)
        dist.barrier()

    def token(self):
        return os.environ.get("TOKEN") or getpass.getpass("token: ")  # distkb: script.question-left


def wait():
    print("press enter")
    sys.stdin.readline()  # distkb: script.question-left


def main(model, loader, folder):
    dist.init_process_group("gloo")
    runs = Runs(folder)
    if dist.get_rank() == 0 and agrees("go on?"):
        print(runs.token())
    runs.begin()
    for batch in loader:
        model(batch).mean().backward()
    wait()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(None, [], "runs")
