#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
OMP_NUM_THREADS=1 /opt/venv/bin/torchrun --nproc-per-node 2 --master-port 29811 drive.py settings.json > logs/console.log 2>&1
