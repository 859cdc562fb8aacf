#!/bin/bash
#Q name=mae-small
#Q slots=3
#Q limit=60
#Q mail=none
export OMP_NUM_THREADS=1 EPOCHS=12 STEPS=12
exec /opt/venv/bin/torchrun --standalone --nproc-per-node 3 pretrain.py
