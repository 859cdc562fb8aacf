#!/bin/bash
# scaling sweep, keeps epochs fixed
cd "$(dirname "$0")"
PY=/opt/venv/bin/python
export OMP_NUM_THREADS=1
rm -f logs/throughput.csv
for r in 1 2; do
  echo "== replicas $r"
  timeout -s INT 55 $PY train.py --replicas $r --out logs
done > logs/console.log 2>&1
