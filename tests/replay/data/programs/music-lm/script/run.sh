#!/bin/bash
cd "$(dirname "$0")" && mkdir -p logs
OMP_NUM_THREADS=1 STEPS=${STEPS:-80} python main.py 2
