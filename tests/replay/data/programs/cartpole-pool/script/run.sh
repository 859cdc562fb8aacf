#!/bin/bash
cd "$(dirname "$0")"
timeout -k 5 -s INT 40 python train.py --actors 2 --logdir logs 2>&1 | tee logs/console.log
