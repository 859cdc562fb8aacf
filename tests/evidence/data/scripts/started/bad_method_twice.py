import torch.multiprocessing as mp

mp.set_start_method("forkserver")  # distkb: script.start-method-set-again


def worker(rank):
    print(rank)


def main():
    mp.set_start_method("spawn")  # distkb: script.start-method-twice
    mp.spawn(worker, nprocs=2)


if __name__ == "__main__":
    main()
