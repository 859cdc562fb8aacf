#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout 90 python -u main.py mol.yaml > logs/console.log 2>&1
