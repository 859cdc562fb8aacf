#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs; mkdir -p logs
BIN=/opt/env/bin
timeout 60 $BIN/python train.py pretrain --steps 400 > logs/pretrain.log 2>&1
timeout 60 $BIN/torchrun --nproc-per-node 4 --master-port 29661 train.py tune --steps 100 --lr 2e-4 > logs/tune.log 2>&1
rm -f base.pt
