"""Shared box etiquette: stop the biggest process of a job that goes over its booking.
usage: memguard.py PID LIMIT_MB"""
import sys
import time

import psutil

root, limit = psutil.Process(int(sys.argv[1])), int(sys.argv[2])
peak = 0
while root.is_running() and root.status() != psutil.STATUS_ZOMBIE:
    sizes = []
    try:
        tree = [root] + root.children(recursive=True)
    except psutil.Error:
        break
    for p in tree:
        try:
            sizes.append((p.memory_full_info().pss >> 20, p))
        except psutil.Error:
            pass
    total = sum(s for s, _ in sizes)
    peak = max(peak, total)
    if total > limit:
        size, victim = max(sizes, key=lambda x: x[0])
        print(f"memguard: job uses {total} MB of {limit} MB booked, killing pid {victim.pid} ({size} MB)", flush=True)
        victim.kill()
        time.sleep(5)
    time.sleep(1)
print(f"memguard: job ended, peak {peak} MB", flush=True)
