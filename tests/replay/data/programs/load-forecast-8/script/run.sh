#!/bin/bash
#SBATCH --job-name=loadfc
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=02:00:00
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
timeout -s INT 55 python forecast.py --devices 2 --epochs 3 > logs/slurm-48121.out 2>&1
echo "forecast.py exit $?" >> logs/slurm-48121.out
