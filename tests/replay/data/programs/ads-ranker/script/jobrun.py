#!/usr/bin/env python
"""Local stand-in for the batch queue: reads the #JOB lines of a job script and runs it."""
import os
import re
import signal
import subprocess
import sys
import time

import psutil


def size(s):
    n, unit = re.match(r"(\d+)([mg])b?$", s.lower()).groups()
    return int(n) << (20 if unit == "m" else 30)


def usage(root):
    rows = []
    for p in [root] + root.children(recursive=True):
        try:
            m = p.memory_info()
            rows.append((m.rss - m.shared, p))
        except psutil.Error:
            pass
    return rows


def main(script):
    req = dict(re.findall(r"^#JOB (\w+)=(\S+)", open(script).read(), re.M))
    limit = size(req["mem"])
    t0 = time.time()
    child = subprocess.Popen(["bash", script], start_new_session=True)
    root = psutil.Process(child.pid)
    peak = 0
    while child.poll() is None:
        rows = usage(root)
        total = sum(r[0] for r in rows)
        peak = max(peak, total)
        if total > limit:
            max(rows, key=lambda r: r[0])[1].send_signal(signal.SIGKILL)
            time.sleep(0.5)
        if time.time() - t0 > int(req.get("walltime", 120)):
            os.killpg(child.pid, signal.SIGTERM)
        time.sleep(0.05)
    print(f"job {req.get('name')} exit {child.returncode} wall {time.time() - t0:.0f}s "
          f"cores {req.get('cores')} mem_req {limit >> 20}mb mem_max {peak >> 20}mb", flush=True)


main(sys.argv[1])
