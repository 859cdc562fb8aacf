#!/bin/bash
# start.sh N [options of policy.py]: N learners on this box
N=$1; shift
export WORLD_SIZE=$N MASTER_ADDR=localhost MASTER_PORT=${MASTER_PORT:-29671}
export OMP_NUM_THREADS=1 DS_ACCELERATOR=cpu
for i in $(seq 0 $((N - 1))); do
  RANK=$i ${PY:-/opt/env/bin/python} policy.py "$@" > logs/learner$i.txt 2>&1 &
done
wait
