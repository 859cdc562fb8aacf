#!/bin/bash
# two sittings of the same training
cd "$(dirname "$0")"
export LOGDIR=${LOGDIR:-logs} WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29764 OMP_NUM_THREADS=1
rm -rf ckpt; mkdir -p $LOGDIR; rm -f $LOGDIR/rank*.jsonl
for until in 60 120; do
  for r in 0 1 2; do
    RANK=$r timeout 55 python -B train.py $until 2>> $LOGDIR/rank$r.err &
  done
  wait
done
