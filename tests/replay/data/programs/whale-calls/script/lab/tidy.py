"""Frees the shared hosts: sessions that nobody renews are closed. Runs from cron / in a loop."""
import argparse
import json
import logging
import os
import signal
import time

ap = argparse.ArgumentParser()
ap.add_argument("folder")
ap.add_argument("--idle", type=float, default=20)
ap.add_argument("--every", type=float, default=2)
args = ap.parse_args()

logging.basicConfig(level=logging.INFO, format="%(asctime)s tidy %(message)s", datefmt="%H:%M:%S")


def ours(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as f:
            return "train_calls.py" in f.read() and os.readlink(f"/proc/{pid}/cwd") == os.getcwd()
    except OSError:
        return False


logging.info("watching %s, idle limit %.0f s", args.folder, args.idle)
while True:
    for name in sorted(os.listdir(args.folder)) if os.path.isdir(args.folder) else []:
        path = os.path.join(args.folder, name)
        try:
            idle = time.time() - os.path.getmtime(path)
            with open(path) as f:
                session = json.load(f)
        except (OSError, ValueError):
            continue
        if idle < args.idle:
            continue
        if ours(session["pid"]):
            os.kill(session["pid"], signal.SIGKILL)
        os.remove(path)
        logging.info("%s slot %s pid %s idle %.0f s, closed", session["host"], session["slot"], session["pid"], idle)
    time.sleep(args.every)
