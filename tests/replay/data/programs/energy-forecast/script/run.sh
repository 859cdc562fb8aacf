#!/bin/bash
# one run in a piece, and one split over two night slots
cd "$(dirname "$0")"
TR="/opt/venv/bin/torchrun --standalone --nproc-per-node 2"
mkdir -p logs; rm -rf runs
{
echo "\$ torchrun train.py --out runs/whole"
timeout -s INT 90 $TR train.py --out runs/whole
echo "\$ torchrun train.py --out runs/split --stop-after 5"
timeout -s INT 90 $TR train.py --out runs/split --stop-after 5
echo "\$ torchrun train.py --out runs/split --resume"
timeout -s INT 90 $TR train.py --out runs/split --resume
} > logs/console.log 2>&1
rm -rf runs
