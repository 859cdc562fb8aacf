#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
/opt/venv/bin/torchrun --nproc-per-node 2 --master-port 29644 fit.py --history logs/history.csv > logs/console.log 2>&1
