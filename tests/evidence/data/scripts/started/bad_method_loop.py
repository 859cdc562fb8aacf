import multiprocessing
from torch.utils.data import DataLoader


def loader_of(files, workers):
    multiprocessing.set_start_method("forkserver")  # distkb: script.start-method-twice
    return DataLoader(files, num_workers=workers)


def main(epochs, files):
    for epoch in range(epochs):
        for batch in loader_of(files, 4):
            print(epoch, batch)


if __name__ == "__main__":
    main(3, ["a", "b"])
