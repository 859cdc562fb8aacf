import json
import os

import numpy as np
import torch
import torch.distributed as dist


def to_other_name(folder):
    table = np.load(os.path.join(folder, "train.npy"))
    np.save(os.path.join(folder, "train_scaled.npy"), table / 255.0)


def once(folder):
    path, mark = os.path.join(folder, "valid.npy"), os.path.join(folder, "scaled")
    if os.path.exists(mark):
        return
    np.save(path, np.load(path) / 255.0)
    open(mark, "w").close()


def same_again(folder):
    path = os.path.join(folder, "test.npy")
    table = np.load(path)
    np.save(path, table.astype(np.float32))


def count_attempts(path):
    state = json.load(open(path)) if os.path.exists(path) else {"attempts": 0}
    attempts = int(state["attempts"]) + 1
    json.dump({"attempts": attempts}, open(path, "w"))


def train(path, epochs):
    state = torch.load(path)
    step = state["step"]
    for _ in range(epochs):
        step += 1
    torch.save({"step": step}, path)


def main(folder="data"):
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        to_other_name(folder)
        once(folder)
        same_again(folder)
        count_attempts("attempts.json")
    dist.barrier()
    train("last.pt", 3)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
