#!/bin/bash
cd "$(dirname "$0")"
set -a; . ./shell.env; set +a
env | grep ^SLURM | sort > logs/env.txt
timeout -k 5 -s INT 40 python forecast.py --devices 2 --epochs 3 > logs/console.log 2>&1
