#!/bin/bash
cd "$(dirname "$0")"
rm -rf snaps; mkdir -p logs
timeout -s INT -k 5 40 python -u sprites.py --ranks 3 --steps 400 > logs/console.log 2>&1
echo "exit code $?" >> logs/console.log
