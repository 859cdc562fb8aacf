#!/bin/bash
# launch.sh LOGDIR [train.py options]      one process per core
LOGDIR=$1; shift
mkdir -p $LOGDIR
NP=${NP:-2}
export MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29641} WORLD_SIZE=$NP
for ((r = 0; r < NP; r++)); do
  RANK=$r LOCAL_RANK=$r /opt/venv/bin/python -u train.py "$@" > $LOGDIR/rank$r.log 2>&1 &
done
wait
