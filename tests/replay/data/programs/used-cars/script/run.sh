#!/bin/bash
# runs all cells of the notebook, the same way as "Run All" in the editor
cd "$(dirname "$0")"
mkdir -p logs
timeout 60 python pricing.py > logs/console.log 2>&1
