#!/bin/bash
#JOB name=ads_ranker
#JOB cores=2
#JOB mem=2560m
#JOB walltime=110
export PATH=/opt/env/bin:$PATH
export OMP_NUM_THREADS=1 TORCH_EXTENSIONS_DIR=/opt/env/ext
deepspeed --num_accelerators 2 --master_port ${PORT:-29641} train.py --deepspeed --deepspeed_config ds_config.json
