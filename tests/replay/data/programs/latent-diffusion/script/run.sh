#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout -s INT 60 python main.py --epochs 4 2>&1 | tee logs/console.log
