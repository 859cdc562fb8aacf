#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
timeout -s INT 55 /opt/venv/bin/torchrun --nproc-per-node 3 --master-port 29641 \
  --log-dir logs --redirects 3 --tee 0 pretrain.py config.json > logs/console.log 2>&1
