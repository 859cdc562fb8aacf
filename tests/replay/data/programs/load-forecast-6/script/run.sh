#!/bin/bash
cd "$(dirname "$0")"
export HF_HOME=$PWD/hf_home OMP_NUM_THREADS=1
mkdir -p logs
accelerate=accelerate
$accelerate launch forecast.py --epochs 3 --lr 3e-3
