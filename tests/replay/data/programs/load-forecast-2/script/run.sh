#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout -s INT 55 python forecast.py > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
