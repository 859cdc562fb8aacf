#!/bin/bash
# first the full set, stopped with ctrl-C; then the small set
cd "$(dirname "$0")"
rm -rf cache logs
timeout -s INT 20 ./launch.sh logs/full --clips 4000
timeout -s INT 45 ./launch.sh logs/small --clips 400 --epochs 4
