#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
OMP_NUM_THREADS=1 timeout -s INT 420 /opt/venv/bin/python detect.py > logs/console.log 2>&1
