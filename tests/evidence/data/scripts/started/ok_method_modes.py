import multiprocessing as mp


class Pool:
    def __init__(self, size):
        mp.set_start_method("spawn")
        self.size = size


def train():
    return Pool(8)


def evaluate():
    return Pool(2)


def main(mode):
    if mode == "train":
        return train()
    return evaluate()


if __name__ == "__main__":
    main("train")
