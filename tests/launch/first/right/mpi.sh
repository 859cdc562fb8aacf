#!/bin/bash
HOSTS=n01:8,n02:8
mpirun -np 16 -H $HOSTS --bind-to none --map-by slot \
    -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH -x MASTER_ADDR=n01 -x MASTER_PORT=29500 \
    python train.py
