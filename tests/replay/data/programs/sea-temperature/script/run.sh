#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
timeout -s INT ${LIMIT:-40} /opt/venv/bin/torchrun --nproc-per-node 3 --master-port 29923 --log-dir logs --redirects 3 --tee 1 forecast.py > logs/console.log 2>&1
