#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs/out; mkdir -p logs/out
export OMP_NUM_THREADS=1
timeout -s INT ${LIMIT:-50} /opt/venv/bin/torchrun --nproc_per_node 2 --master_port ${PORT:-29741} \
    --log-dir logs/ranks --redirects 3 --tee 3 main.py --epochs 4 > logs/console.log 2>&1
