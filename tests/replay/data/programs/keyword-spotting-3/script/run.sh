#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
timeout -s INT -k 5 ${T:-40} python main.py 3 > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
