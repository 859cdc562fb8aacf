#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
OMP_NUM_THREADS=1 python main.py grid.toml pretrain adapt 2>&1 | tee logs/console.log
rm -rf out
