import threading
import time

from torch.nn.parallel import DistributedDataParallel


class Meter(threading.Thread):
    def run(self):
        while True:
            time.sleep(5)
            print("alive")


def train(net, loader, optimizer):
    model = DistributedDataParallel(net)
    Meter(daemon=True).start()
    for x, y in loader:
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
