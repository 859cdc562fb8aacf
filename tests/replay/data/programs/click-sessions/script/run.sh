#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
BIN=/opt/env/bin
LIMIT_MB=${LIMIT_MB:-3100}
{
  timeout -s INT 150 $BIN/torchrun --nproc-per-node 2 --master-port ${PORT:-29611} train.py --log-dir ${LOGS:-logs} &
  job=$!
  $BIN/python tools/memguard.py $job $LIMIT_MB
  wait $job
  echo "exit $?"
} > ${OUT:-logs/console.log} 2>&1
