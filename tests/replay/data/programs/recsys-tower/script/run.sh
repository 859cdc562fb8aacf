#!/bin/bash
# how does it scale on this box?
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
mkdir -p logs
for np in 1 2; do
  timeout -s INT 200 /opt/venv/bin/torchrun --standalone --nproc-per-node $np main.py conf.yaml
done > logs/console.log 2>&1
