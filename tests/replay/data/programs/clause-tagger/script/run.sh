#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
timeout 120 torchrun --standalone --nproc-per-node 2 train.py config.json > "${LOG:-logs/console.log}" 2>&1
echo "exit code $?" >> "${LOG:-logs/console.log}"
