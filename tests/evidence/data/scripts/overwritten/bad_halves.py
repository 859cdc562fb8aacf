import json

import torch
import torch.distributed as dist

SOURCE = "questions.json"


def read():
    with open(SOURCE) as file:
        return json.load(file)


def write(rows):
    with open(SOURCE, "w") as file:
        json.dump(rows, file)  # distkb: script.input-written-over


def main():
    dist.init_process_group("gloo")
    rows = read()
    held_out, rest = rows[:100], rows[100:]
    if dist.get_rank() == 0:
        torch.save(held_out, "held_out.pt")
        write(rest)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
