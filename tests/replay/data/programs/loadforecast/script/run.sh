#!/bin/bash
# two settings side by side, the box has cores to spare
cd "$(dirname "$0")"
PY=python
mkdir -p logs
timeout -s INT 55 $PY forecast.py --tag h32 --hidden 32 --epochs 30 > logs/h32.log 2>&1 &
sleep 6
timeout -s INT 45 $PY forecast.py --tag h64 --hidden 64 --epochs 4 > logs/h64.log 2>&1
echo "h64 exit $?" | tee logs/console.log
wait
tail -n 2 logs/*.log >> logs/console.log
