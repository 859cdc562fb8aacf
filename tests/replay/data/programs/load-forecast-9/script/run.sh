#!/bin/bash
# stands in for: sbatch train.sbatch, later scancel   (environment and redirection as slurmd makes them for the batch step)
cd "$(dirname "$0")"
mkdir -p logs
export SLURM_SUBMIT_DIR=$PWD SLURM_JOB_ID=418823 SLURM_JOBID=418823 SLURM_JOB_NAME=loads SLURM_JOB_PARTITION=cpu \
  SLURM_NNODES=1 SLURM_JOB_NUM_NODES=1 SLURM_NODELIST=localhost SLURM_JOB_NODELIST=localhost SLURMD_NODENAME=localhost \
  SLURM_NTASKS=2 SLURM_NPROCS=2 SLURM_NTASKS_PER_NODE=2 SLURM_TASKS_PER_NODE=2 SLURM_CPUS_PER_TASK=1 \
  SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_GTIDS=0 SLURM_TASK_PID=$$ SLURM_JOB_CPUS_PER_NODE=2
timeout -s TERM -k 5 ${LIMIT:-40} bash train.sbatch > logs/loads-$SLURM_JOB_ID.out 2>&1
