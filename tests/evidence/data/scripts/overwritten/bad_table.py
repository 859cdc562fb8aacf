import argparse

import pandas as pd
import torch
from accelerate import Accelerator


class Prices:
    def __init__(self, path):
        self.path = path

    def prepare(self):
        frame = pd.read_csv(self.path)
        frame["price"] = frame["price"] / frame["price"].max()
        frame["age"] -= 1
        frame.to_csv(self.path, index=False)  # distkb: script.input-written-over
        return frame


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", default="prices.csv")
    args = parser.parse_args()
    accelerator = Accelerator()
    prices = Prices(args.csv)
    with accelerator.main_process_first():
        frame = prices.prepare()
    model = accelerator.prepare(torch.nn.Linear(1, 1))
    accelerator.backward(model(torch.tensor(frame["age"])).sum())


if __name__ == "__main__":
    main()
