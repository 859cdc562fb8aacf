#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
torchrun --standalone --nproc_per_node=2 --log-dir logs --tee 3 train.py --config conf.yaml
