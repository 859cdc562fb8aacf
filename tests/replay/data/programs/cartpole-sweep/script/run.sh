#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
timeout -s INT ${LIMIT:-40} /opt/venv/bin/python sweep.py > logs/console.log 2>&1
pkill -f cartpole_sweep/.*ppo.py
exit 0
