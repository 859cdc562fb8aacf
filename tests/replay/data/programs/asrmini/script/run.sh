#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout 58 ./node.sh 0 > logs/node0.log 2>&1 &
timeout 58 ./node.sh 1 > logs/node1.log 2>&1 &
wait
