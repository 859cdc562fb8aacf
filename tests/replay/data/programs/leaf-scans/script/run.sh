#!/bin/bash
# usage: run.sh [processes]
cd "$(dirname "$0")"
. ./env.sh
N=${1:-2}
mkdir -p logs
timeout -s INT 150 torchrun --nnodes 1 --nproc-per-node "$N" --master-port 29533 \
    --log-dir logs/elastic --redirects 3 --tee 3 main.py > logs/console_$N.log 2>&1
