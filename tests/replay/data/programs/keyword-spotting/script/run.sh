#!/bin/bash
cd "$(dirname "$0")"
PY=/opt/venv/bin/python
mkdir -p logs
export OMP_NUM_THREADS=1
[ -e encoder.pt ] || $PY pretrain.py > logs/pretrain.log 2>&1
export MASTER_ADDR=localhost MASTER_PORT=8877 WORLD_SIZE=4
for RANK in 0 1 2 3; do
    RANK=$RANK $PY finetune.py encoder.pt >> logs/stderr.log 2>&1 &
done
wait
