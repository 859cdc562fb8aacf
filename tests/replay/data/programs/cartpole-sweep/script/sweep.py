"""Random search over PPO settings, one 2-process job at a time."""
import csv
import json
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
N = int(os.environ.get("TRIALS", "2"))


def launch(params, port):
    cmd = [os.path.join(os.path.dirname(sys.executable), "torchrun"),
           "--nproc_per_node", "2", "--master_port", str(port), os.path.join(HERE, "ppo.py")]
    for k, v in params.items():
        cmd += [f"--{k}", str(v)]
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    curve = []
    for line in p.stdout:
        rec = json.loads(line)
        curve.append(rec["len"])
        print(f"    iter {rec['iter']:3d}  len {rec['len']:6.1f}  {rec['sec']:.2f}s", flush=True)
    err = p.stderr.read()
    return p.wait(), curve, err


def main():
    rng = random.Random(5)
    os.makedirs(os.path.join(HERE, "logs"), exist_ok=True)
    with open(os.path.join(HERE, "logs", "sweep.csv"), "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["trial", "lr", "clip", "width", "rc", "best", "sec"])
        f.flush()
        for t in range(N):
            params = {"lr": round(10 ** rng.uniform(-3, -2), 5), "clip": rng.choice([0.1, 0.2, 0.3]),
                      "width": rng.choice([16, 32, 64])}
            print(f"[{time.strftime('%H:%M:%S')}] trial {t} {params}", flush=True)
            t0 = time.time()
            rc, curve, err = launch(params, 29711 + t)
            with open(os.path.join(HERE, "logs", f"trial{t}.err"), "w") as g:
                g.write(err)
            w.writerow([t, params["lr"], params["clip"], params["width"], rc,
                        max(curve, default=0), round(time.time() - t0, 1)])
            f.flush()
            print(f"[{time.strftime('%H:%M:%S')}] trial {t} rc {rc} best {max(curve, default=0)}", flush=True)


if __name__ == "__main__":
    main()
