import os

import psutil


def private_mib():
    """Memory of this process that it shares with nobody."""
    return psutil.Process(os.getpid()).memory_full_info().uss / 2**20
