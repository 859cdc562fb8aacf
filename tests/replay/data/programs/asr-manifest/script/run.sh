#!/bin/bash
# three local processes, no launcher
cd "$(dirname "$0")"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29733 WORLD_SIZE=3 OMP_NUM_THREADS=1
mkdir -p logs; rm -rf work
pids=
for r in 0 1 2; do
  RANK=$r LOCAL_RANK=$r timeout -s INT ${LIMIT:-400} /opt/venv/bin/python train_kws.py --log-dir logs > logs/stdout_$r.txt 2>&1 &
  pids="$pids $!"
done
wait $pids
