from accelerate import Accelerator
from torch.utils.data import DataLoader


class Data:
    def __init__(self, rows, accelerator, size=16):
        self.rows = rows
        self.total = accelerator.num_processes * size

    def loader(self):
        return DataLoader(self.rows, self.total, shuffle=True)  # distkb: script.batch-times-processes


def main(rows):
    accelerator = Accelerator()
    loader = accelerator.prepare(Data(rows, accelerator).loader())
    for batch in loader:
        accelerator.print(batch)
