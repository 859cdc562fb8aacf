"""Run a command as one step of a batch job: accounting to a CSV file and the job's --mem.

jobstep.py --mem MB --acct FILE -- command ...
"""
import argparse
import csv
import os
import signal
import subprocess
import time


def tree(root):
    kids = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            try:
                with open(f"/proc/{d}/stat") as f:
                    kids.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(d))
            except OSError:
                pass
    out, todo = [], [root]
    while todo:
        pid = todo.pop()
        out.append(pid)
        todo += kids.get(pid, [])
    return out


def mem_mb(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            for line in f:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


ap = argparse.ArgumentParser()
ap.add_argument("--mem", type=float, required=True)
ap.add_argument("--acct", required=True)
ap.add_argument("command", nargs="+")
a = ap.parse_args()
child = subprocess.Popen(a.command)
last = 0.0
with open(a.acct, "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["time", "tasks", "job_mem_mb", "req_mem_mb"])
    while child.poll() is None:
        use = {pid: mem_mb(pid) for pid in tree(child.pid)}
        total = sum(use.values())
        if time.time() - last >= 1:
            last = time.time()
            w.writerow([time.strftime("%H:%M:%S"), len(use), round(total), round(a.mem)])
            f.flush()
        if total > a.mem:
            try:
                os.kill(max(use, key=use.get), signal.SIGKILL)
            except ProcessLookupError:
                pass
            time.sleep(0.3)
        time.sleep(0.05)
raise SystemExit(child.returncode if child.returncode >= 0 else 128 - child.returncode)
