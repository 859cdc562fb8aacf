"""slot.py --mem MB --usage FILE -- COMMAND: run a command in a slot of this box as the queue does.

A slot has so much memory; what the processes of the command use together is sampled into FILE,
and past the slot's size the largest of them is killed with signal 9.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

import psutil

p = argparse.ArgumentParser()
p.add_argument("--mem", type=int, required=True)
p.add_argument("--usage", required=True)
p.add_argument("cmd", nargs=argparse.REMAINDER)
a = p.parse_args()
cmd = a.cmd[1:] if a.cmd[0] == "--" else a.cmd


def pss(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            for line in f:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) // 1024
    except OSError:
        pass
    return 0


job = subprocess.Popen(cmd)
start, last = time.time(), 0
with open(a.usage, "w") as out:
    out.write("seconds,processes,mb,largest_mb\n")
    while job.poll() is None:
        try:
            procs = [job.pid] + [c.pid for c in psutil.Process(job.pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            break
        use = {q: pss(q) for q in procs}
        total = sum(use.values())
        if time.time() - last > 0.5 or total > a.mem:
            last = time.time()
            out.write(f"{last - start:.1f},{len(procs)},{total},{max(use.values())}\n")
            out.flush()
        if total > a.mem:
            os.kill(max(use, key=use.get), signal.SIGKILL)
        time.sleep(0.1)
sys.exit(job.wait())
