#!/bin/bash
cd "$(dirname "$0")"
BIN=/opt/env/bin
rm -rf logs; mkdir -p logs
export OMP_NUM_THREADS=1
$BIN/python bucket.py --port 29675 & BUCKET=$!
sleep 2
timeout 90 $BIN/torchrun --standalone --nproc-per-node 2 diffuse.py > logs/console.log 2>&1
kill $BUCKET
