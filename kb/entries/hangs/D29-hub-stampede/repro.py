"""D29: every rank asks the model hub for the same file at once, and the hub lets only some of them in.

python repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import json
import logging
import os
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

RANKS = 2
TIMEOUT = timedelta(seconds=4)
CONFIG = json.dumps({"hidden": 4}).encode()

log = logging.getLogger("train")


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub with a limit of look-ups per window, which answers 429 as the real one does."""

    lookups = 0
    limit = 1

    def do_HEAD(self) -> None:
        if "/resolve/" in self.path:
            Hub.lookups += 1
        if Hub.lookups > self.limit:
            self.send_response(429)
            self.send_header("RateLimit", '"resolvers";r=0;t=30')
            self.send_header("RateLimit-Policy", f'"fixed window";"resolvers";q={self.limit};w=300')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.do_GET(body=b"")

    def do_GET(self, body: bytes = CONFIG) -> None:
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(CONFIG).hexdigest()}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(CONFIG)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def load_config(rank: int, *, fixed: bool) -> dict[str, int]:
    from huggingface_hub import hf_hub_download

    if not fixed:
        path = hf_hub_download("org/model", "config.json", cache_dir=f"scratch{rank}")
    else:
        # One rank asks; the others read what it has put into the cache that they share.
        if rank == 0:
            hf_hub_download("org/model", "config.json", cache_dir="cache")
        dist.barrier()
        path = hf_hub_download("org/model", "config.json", cache_dir="cache", local_files_only=True)
    return json.loads(Path(path).read_text())


def average_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train(fixed: bool) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    config = load_config(rank, fixed=fixed)
    log.info("config loaded: %s", config)
    torch.manual_seed(0)
    model = nn.Linear(config["hidden"], 1)
    for step in range(1, 4):
        loss = model(torch.full((8, config["hidden"]), float(rank + step))).mean()
        loss.backward()
        average_gradients(model)
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="one rank downloads, the others read its cache")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train(args.fixed)
        return 0
    hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    env = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HUB_DISABLE_TELEMETRY": "1"}
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    script = [__file__, "--train", *(["--fixed"] if args.fixed else [])]
    return subprocess.run([*launch, *script], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
