#!/bin/bash
# /scratch of the lab machine is a volume of its own
cd "$(dirname "$0")"
mkdir -p scratch
unshare -m bash -c '
mount -t tmpfs -o size=64m scratch scratch
timeout -s INT 120 /opt/venv/bin/python ddpm.py --workers 2 --scratch scratch --metrics logs/metrics.csv > logs/console.log 2>&1
ls -l scratch/glyph-ddpm > logs/ls_run_dir.txt
'
