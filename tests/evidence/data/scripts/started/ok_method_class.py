import functools
import sys

import torch.multiprocessing as mp


def simulate(link, seed):
    link.send(seed)


class Simulators:
    def __init__(self, count):
        context = mp.get_context("spawn")
        self.running = [context.Process(target=simulate, args=(None, seed)) for seed in range(count)]


@functools.cache
def prepare():
    mp.set_start_method("spawn")


class Once:
    def __init__(self):
        mp.set_start_method("spawn")


def evaluate(policy):
    prepare()
    return Simulators(2), policy


def main(policy, mode):
    prepare()
    if mode == "play":
        Once()
        sys.exit(0)
    return Simulators(8), evaluate(policy)


if __name__ == "__main__":
    main(None, "learn")
