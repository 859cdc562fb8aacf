#!/bin/bash
set -euo pipefail
torchrun --standalone --nproc_per_node=gpu train.py "$@"
