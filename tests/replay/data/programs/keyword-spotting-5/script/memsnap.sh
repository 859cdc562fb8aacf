#!/bin/bash
# memsnap.sh PID OUT: where the memory of a worker goes, for the capacity sheet
set -eu
pid=$1
out=$2
kill -STOP "$pid"              # smaps is only consistent while nothing runs
cp "/proc/$pid/smaps" "$out.smaps"
rss=$(awk '/^Rss:/ {s += $2} END {print int(s / 1024)}' "$out.smaps")
shm=$(grep -c '/dev/shm' "$out.smaps")
kill -CONT "$pid"
echo "$(date +%T) pid $pid rss ${rss} MiB, shm segments $shm" >> "$out.txt"
