#!/bin/bash
# the pool hands us what it has; capacity is written to pool.txt by the scheduler hook
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
rm -rf runs; mkdir -p logs
: > logs/console.log
say() { echo "[$(date +%H:%M:%S)] launch.sh: $*" >> logs/console.log; }

echo 4 > pool.txt
say "allocation $(cat pool.txt) slots"
timeout -s TERM "${FIRST_SECONDS:-26}" torchrun --standalone --nproc-per-node="$(cat pool.txt)" train.py --config conf/base.json >> logs/console.log 2>&1
say "exit code $?, requeued"
echo 3 > pool.txt
say "allocation $(cat pool.txt) slots"
timeout -s INT 50 torchrun --standalone --nproc-per-node="$(cat pool.txt)" train.py --config conf/base.json >> logs/console.log 2>&1
say "exit code $?"
