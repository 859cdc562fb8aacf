#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout -s TERM 300 bash start.sh 2
