#!/bin/bash
cd "$(dirname "$0")"
JOBID=3117 ./q job.sh
