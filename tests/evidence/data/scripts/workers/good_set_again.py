"""Start methods that are set once: by force, in a `try`, behind the test of the file's name, in a function."""

import torch.multiprocessing as mp

try:
    mp.set_start_method("spawn")
except RuntimeError:
    pass

mp.set_start_method("spawn", force=True)


def run(rank):
    print(rank)


def main():
    mp.set_start_method("spawn")
    mp.spawn(run, nprocs=2)


if __name__ == "__main__":
    mp.set_start_method("forkserver")
    mp.spawn(run, nprocs=2)
