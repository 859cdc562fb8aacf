#!/bin/bash
# ./launch.sh typed on trn0, terminal closed when nothing more comes
cd "$(dirname "$0")"
mkdir -p logs
timeout -s TERM -k 5 ${LIMIT:-40} /tmp/r3_site/head.sh ./launch.sh > logs/console.log 2>&1
