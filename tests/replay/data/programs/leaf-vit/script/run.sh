#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
rm -rf logs
timeout -s INT 90 /opt/venv/bin/torchrun --nproc_per_node 2 --master_port 29641 \
    --log-dir logs --redirects 3 main.py
