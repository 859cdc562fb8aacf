#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout -s INT 50 python finetune.py > logs/console.log 2>&1
