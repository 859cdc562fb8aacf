import logging
import os


def make_logger(rank):
    logging.basicConfig(format="%(asctime)s | %(levelname).1s | r%(rank)s | %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
    return logging.LoggerAdapter(logging.getLogger("birdcalls"), {"rank": rank})


def host_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2 ** 20
