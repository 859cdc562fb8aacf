#!/bin/bash
cd "$(dirname "$0")"
timeout -s INT ${LIMIT:-400} /opt/venv/bin/python -u forecast.py --procs 4 > logs/console.log 2>&1
