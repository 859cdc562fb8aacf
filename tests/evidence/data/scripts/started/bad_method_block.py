from torch.multiprocessing import set_start_method


def prepare():
    set_start_method("spawn")


if __name__ == "__main__":
    prepare()
    set_start_method("fork")  # distkb: script.start-method-twice
