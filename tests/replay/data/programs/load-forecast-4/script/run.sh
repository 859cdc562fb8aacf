#!/bin/bash
# one process per rank on this host
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29631} WORLD_SIZE=4
OUT=${OUT:-logs}
for r in 0 1 2 3; do
  RANK=$r LOCAL_RANK=$r timeout -s INT 90 python fit.py --out $OUT > $OUT/out_$r.txt 2>&1 &
done
wait
