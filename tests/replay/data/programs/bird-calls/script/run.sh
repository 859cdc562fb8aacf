#!/bin/bash
# queue "small": 2 cores, 3200 MB for the job
cd "$(dirname "$0")"
LOG=${LOG:-logs}; mkdir -p "$LOG"
export OMP_NUM_THREADS=1
timeout 110 /opt/env/bin/jobrun --mem 3200 \
  /opt/venv/bin/torchrun --nproc-per-node 2 --master-port ${PORT:-29681} train.py --clips 1200 --epochs 3 > "$LOG/console.log" 2>&1
echo "job ended with status $?" >> "$LOG/console.log"
