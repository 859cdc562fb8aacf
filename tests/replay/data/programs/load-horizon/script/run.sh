#!/bin/bash
# two stages: base run, then the long run with the small learning rate
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1 WORLD_SIZE=4
PY=python

stage() {
    export MASTER_PORT=$2
    for r in 0 1 2 3; do
        RANK=$r LOCAL_RANK=$r timeout 100 $PY train.py conf/$1.yaml > logs/$1_rank$r.log 2>&1 &
    done
    wait
}

stage base 29731
stage longrun 29732
