#!/bin/bash
cd "$(dirname "$0")"
timeout -s INT 100 python main.py --ranks 4 --epochs 6 --out logs
