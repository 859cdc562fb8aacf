"""A store beside the group that hands out work."""

import os

from torch.distributed import TCPStore, destroy_process_group, init_process_group


class Queue:
    def __init__(self, host, port):
        self.store = TCPStore(host_name=host, port=port, is_master=False)  # distkb: script.store-nobody-opens

    def take(self):
        return self.store.add("next", 1)


def main():
    init_process_group("gloo")
    local = int(os.environ["LOCAL_RANK"])
    queue = Queue("localhost", 29800)
    print(local, queue.take())
    destroy_process_group()
