#!/bin/bash
# every job slot has 2 cores and a fixed amount of memory per process
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1 MALLOC_ARENA_MAX=2
ulimit -v ${VMEM_KB:-1740000}
timeout -s INT -k 5 55 torchrun --nproc-per-node 2 --master-port 29651 \
    --log-dir logs/ranks --redirects 3 train_diffusion.py > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
