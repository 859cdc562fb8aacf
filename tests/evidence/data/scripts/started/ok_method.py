import torch.multiprocessing as mp

mp.set_start_method("forkserver", force=True)


def main(spawn):
    try:
        mp.set_start_method("spawn")
    except RuntimeError:
        pass
    if spawn:
        mp.set_start_method("spawn", force=True)
    mp.set_start_method("fork", force=True)


if __name__ == "__main__":
    main(True)
