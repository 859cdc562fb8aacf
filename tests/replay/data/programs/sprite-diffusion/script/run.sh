#!/bin/bash
# four workers by hand, no launcher on these boxes
cd "$(dirname "$0")"
mkdir -p logs
export MASTER_ADDR=127.0.0.1 MASTER_PORT=38521 WORLD_SIZE=4 OMP_NUM_THREADS=1
PY=python
for r in 1 2 3; do
  RANK=$r LOCAL_RANK=$((r % 2)) timeout 90 $PY train.py > logs/out.$r 2>&1 &
done
RANK=0 LOCAL_RANK=0 timeout 90 $PY train.py > logs/console.log 2>&1
wait
rm -f logs/part*.pt
for r in 1 2 3; do [ -s logs/out.$r ] || rm -f logs/out.$r; done
