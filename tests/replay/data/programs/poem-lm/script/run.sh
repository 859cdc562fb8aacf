#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
rm -rf logs/* samples.txt
timeout -s INT ${LIMIT:-55} /opt/venv/bin/torchrun --nproc-per-node 3 --master-port 8733 --log-dir logs --redirects 3 train_lm.py --epochs 2
