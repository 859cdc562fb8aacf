import argparse

import pandas as pd
import torch.distributed as dist


def rescale(path):
    frame = pd.read_parquet(path)
    frame["weight"] = frame["weight"] / 1000
    frame.to_parquet(path)


def log(path, row):
    frame = pd.concat([pd.read_csv(path), pd.DataFrame([row])])
    frame.to_csv(path, index=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rescale", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    if args.rescale:
        rescale("rows.parquet")
        return
    if dist.get_rank() == 0:
        log("runs.csv", {"loss": 1.0})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
