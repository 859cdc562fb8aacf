#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout -s INT 240 /opt/venv/bin/python main.py --procs 3 > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
