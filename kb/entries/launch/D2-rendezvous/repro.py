"""Two nodes of one job whose start scripts give torchrun different rendezvous ids: the agents never meet.

Run it as it stands for the failure, with `--fixed` for the repaired form: one id for the whole job.
Both "nodes" are torchrun agents on this machine; the join timeout is 6 s here and 10 minutes by default.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

NODES = 2
TIMEOUTS = "join_timeout=6,last_call_timeout=1,close_timeout=2"


def train() -> None:
    rank = os.environ["RANK"]
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    loss = torch.tensor(float(rank))
    for step in range(3):
        dist.all_reduce(loss)
        logging.info("step %d loss %.1f world_size %d", step, loss.item(), dist.get_world_size())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


def start_node(node: int, port: int, job_id: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={NODES}", "--nproc-per-node=1"]
    command += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id={job_id}"]
    command += [f"--rdzv-conf=is_host=0,{TIMEOUTS}", "--local-addr=127.0.0.1", __file__, "--train"]
    logging.info("node %d: %s", node, " ".join(command[1:-2]))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        torch.set_num_threads(1)
        train()
        return 0

    logging.basicConfig(level=logging.INFO, format="%(asctime)s [launch] %(levelname)s %(message)s")
    # The store of the head node. Holding it here keeps the port of two parallel runs apart.
    head = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    # Each node asked its own clock for the id instead of taking the scheduler's job id.
    ids = ["job-42"] * NODES if args.fixed else [f"job-{1700000000 + node}" for node in range(NODES)]
    nodes = [start_node(node, head.port, job_id) for node, job_id in enumerate(ids)]
    code = 0
    try:
        for node, process in enumerate(nodes):
            output, _ = process.communicate(timeout=60)
            print(output, end="", flush=True)
            logging.info("node %d exited with code %d", node, process.returncode)
            code = code or process.returncode
    finally:
        for process in nodes:
            if process.poll() is None:
                process.terminate()
                process.wait()
    return code


if __name__ == "__main__":
    sys.exit(main())
