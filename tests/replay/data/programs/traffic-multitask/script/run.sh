#!/bin/bash
# two workers, plain env variables
cd "$(dirname "$0")"
mkdir -p logs
export MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29655} WORLD_SIZE=2 OMP_NUM_THREADS=1
pids=()
for r in 0 1; do
    RANK=$r LOCAL_RANK=$r timeout -s INT 60 /opt/venv/bin/python -u traffic.py > logs/worker$r.log 2>&1 &
    pids+=($!)
done
rc=0
for p in "${pids[@]}"; do wait "$p" || rc=$?; done
exit $rc
