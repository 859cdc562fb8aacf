#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
timeout -s TERM 130 /opt/env/bin/python jobrun.py job.sh > logs/console.log 2>&1
