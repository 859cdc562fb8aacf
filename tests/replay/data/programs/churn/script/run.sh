#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout 58 ./job.sh north --max-restarts=3 > logs/north.txt 2>&1 &
sleep 1
timeout 58 ./job.sh south > logs/south.txt 2>&1 &
wait
