import torch

TEXT = [
    "ticket: printer on floor 3 is offline. answer: restarted the spooler, please try again.",
    "ticket: cannot log in to vpn. answer: your token had expired, a new one is on its way.",
    "ticket: the build agent has no disk. answer: cleaned the workspace, rerun the job.",
    "ticket: mail is slow since noon. answer: one relay was overloaded, it is fixed now.",
    "ticket: need access to the finance share. answer: ask your manager to approve the form.",
    "ticket: laptop gets hot and loud. answer: bring it to the desk, the fan needs cleaning.",
]


def batches(rank, world, batch_size, length, seed=0):
    g = torch.Generator().manual_seed(seed * 1000 + rank)
    while True:
        rows = []
        for _ in range(batch_size):
            i = torch.randint(0, len(TEXT), (1,), generator=g).item()
            ids = list(TEXT[i].encode())[:length]
            rows.append(ids + [256] * (length - len(ids)))
        yield torch.tensor(rows)
