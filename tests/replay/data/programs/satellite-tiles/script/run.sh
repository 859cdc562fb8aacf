#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs cache landuse.pt; mkdir -p logs
OMP_NUM_THREADS=1 timeout 60 python main.py > logs/console.log 2>&1
echo "exit code $?" >> logs/console.log
