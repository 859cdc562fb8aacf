#!/bin/bash
# started once per machine: job.sh REGION [more torchrun options]
cd "$(dirname "$0")"
REGION=$1; shift
exec torchrun --nnodes=2 --nproc-per-node=2 \
  --rdzv-backend=c10d --rdzv-endpoint=${HEAD_HOST:-localhost}:29688 --rdzv-id=churn "$@" \
  churn.py export/$REGION
