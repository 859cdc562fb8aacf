#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs out; rm -f logs/*
export OMP_NUM_THREADS=1
V=/opt/venv/bin
timeout 60 $V/torchrun --nproc-per-node 4 --master-port ${PORT:-29661} fit.py stations.json > logs/fit.out 2>&1 &&
  $V/python score.py stations.json > logs/score.out 2>&1
