#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
mkdir -p logs
timeout -s INT 240 /opt/venv/bin/torchrun --standalone --nproc-per-node 2 compose.py settings.json > logs/console.log 2>&1
rm -rf scratch
