#!/bin/bash
# full catalogue, 2026-11 data
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
LOGS=${LOGS:-logs}; mkdir -p $LOGS
timeout -k 5 120 /opt/venv/bin/torchrun --nproc-per-node 3 --master-port 29651 \
  train.py --epochs 2 --items 6000 --eval-users 1400 --pg-timeout 120 > $LOGS/console.log 2>&1
