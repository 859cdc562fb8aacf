#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
NPROC=3 OUT=logs timeout -s INT 58 /opt/venv/bin/python main.py > logs/console.log 2>&1
