# sourced by every job of the group
export MASTER_ADDR=127.0.0.1
export OMP_NUM_THREADS=1
export MKL_NUM_THREADS=1
export OMP_PROC_BIND=close
export OMP_PLACES=cores
export PYTHONUNBUFFERED=1
