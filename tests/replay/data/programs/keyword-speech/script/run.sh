#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
RUN="timeout -s INT 50 /opt/venv/bin/torchrun --nproc-per-node 2 --master-port 29683 train_kws.py"
rm -rf work && mkdir -p work/desk work/queue && rm -f logs/*.jsonl
{
echo "### desk"; $RUN --work work/desk --metrics logs/desk.jsonl --one-go
for slot in 1 2 3 4 5 6 7 8; do echo "### queue slot $slot"; $RUN --work work/queue --metrics logs/queue.jsonl; done
} > logs/console.log 2>&1
rm -rf work
