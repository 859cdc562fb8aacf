#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
exec > logs/job.log 2>&1

make -C native clean
make -C native ARCH=knl

export MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29785} WORLD_SIZE=3
pids=()
for r in 0 1 2; do
    RANK=$r timeout -s INT 60 python train.py > logs/train_$r.txt 2>&1 &
    pids+=($!)
done
for r in 0 1 2; do
    wait ${pids[$r]}
    echo "rank $r finished with $?"
done
