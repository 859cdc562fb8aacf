#!/bin/bash
cd "$(dirname "$0")"
export WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=29783 OMP_NUM_THREADS=1
mkdir -p logs
for r in 0 1 2 3; do
  RANK=$r LOCAL_RANK=$((r % 2)) python two_tower.py --history logs/history "$@" >"logs/out.$r" 2>&1 &
done
wait
rm -f logs/history/two_tower.pt
