#!/bin/bash
cd "$(dirname "$0")"
B=/opt/env/bin
rm -rf data logs; mkdir -p logs
$B/python make_data.py data/train 2
timeout -s INT ${LIMIT:-40} $B/torchrun --standalone --nproc_per_node 3 --log-dir logs/ranks --redirects 3 train.py --data data/train \
    > logs/launcher.log 2>&1
