#!/bin/bash
#SBATCH --job-name=story-ft --nodes=1 --ntasks=1 --cpus-per-task=2 --mem=3900
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
PY=python
[ -f base.pt ] || $PY export_base.py base.pt
$PY jobstep.py --mem ${MEM:-3900} --acct logs/acct.csv -- \
    timeout 120 torchrun --standalone --nproc-per-node 4 finetune.py --base base.pt --steps 6 \
    > logs/console.log 2>&1
echo "job step ended, exit status $?" >> logs/console.log
