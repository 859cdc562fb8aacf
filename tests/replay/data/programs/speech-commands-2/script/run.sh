#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs exp && mkdir -p logs
timeout -s INT 40 torchrun --nproc-per-node 3 --master-port 29631 \
  --log-dir logs/torchrun --redirects 3 --tee 3 train.py --epochs 4 > logs/console.log 2>&1
