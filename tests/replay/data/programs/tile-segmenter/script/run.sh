#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
LOG=${LOG:-logs}; mkdir -p "$LOG"
timeout 90 /opt/venv/bin/torchrun --nproc-per-node 2 --master-port ${PORT:-29671} \
  --log-dir "$LOG/elastic" --redirects 3 --tee 3 \
  train.py --conf conf/two_procs.yaml --epochs 3 --background-save > "$LOG/console.log" 2>&1
