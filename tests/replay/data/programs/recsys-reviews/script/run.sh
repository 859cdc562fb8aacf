#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
rm -rf /home/user/.site/disk/reviews
/home/user/.site/enter.sh bash job.sh > logs/console.log 2>&1
echo "exit code $?" >> logs/console.log
