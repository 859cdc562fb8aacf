#!/bin/bash
cd "$(dirname "$0")"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29667 WORLD_SIZE=3 OMP_NUM_THREADS=1 LOGDIR=logs
for r in 0 1 2; do
  RANK=$r timeout ${LIMIT:-40} /opt/venv/bin/python run_ppo.py > logs/out_$r.txt 2>&1 &
done
wait
