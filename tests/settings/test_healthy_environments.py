"""Environments of jobs that run well raise no alarm."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from distkb.evidence.observation import Observation

TORCHRUN_WORKER = {
    "GROUP_RANK": "0",
    "GROUP_WORLD_SIZE": "2",
    "LOCAL_RANK": "3",
    "LOCAL_WORLD_SIZE": "8",
    "MASTER_ADDR": "node-0.cluster.local",
    "MASTER_PORT": "29400",
    "OMP_NUM_THREADS": "1",
    "RANK": "3",
    "ROLE_NAME": "default",
    "ROLE_RANK": "3",
    "ROLE_WORLD_SIZE": "16",
    "TORCHELASTIC_ERROR_FILE": "/scratch/torchelastic_x/attempt_0/3/error.json",
    "TORCHELASTIC_MAX_RESTARTS": "0",
    "TORCHELASTIC_RESTART_COUNT": "0",
    "TORCHELASTIC_RUN_ID": "job-17",
    "TORCHELASTIC_SIGNALS_TO_HANDLE": "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    "WORLD_SIZE": "16",
    "CUDA_MODULE_LOADING": "LAZY",
    "PYTHONUNBUFFERED": "1",
    "KMP_INIT_AT_FORK": "FALSE",
    "KMP_DUPLICATE_LIB_OK": "True",
}
SLURM_TASK = {
    "CUDA_VISIBLE_DEVICES": "0,1,2,3",
    "GPU_DEVICE_ORDINAL": "0,1,2,3",
    "HOSTNAME": "gpu-a-017",
    "MASTER_ADDR": "gpu-a-017",
    "MASTER_PORT": "12817",
    "NCCL_DEBUG": "WARN",
    "NCCL_IB_HCA": "mlx5_0,mlx5_1",
    "NCCL_SOCKET_IFNAME": "ib0",
    "OMP_PROC_BIND": "false",
    "PMIX_RANK": "3",
    "ROCR_VISIBLE_DEVICES": "0,1,2,3",
    "SLURMD_NODENAME": "gpu-a-017",
    "SLURM_CPUS_PER_TASK": "8",
    "SLURM_GPUS_ON_NODE": "4",
    "SLURM_JOBID": "882137",
    "SLURM_JOB_ID": "882137",
    "SLURM_JOB_NODELIST": "gpu-a-[017-018]",
    "SLURM_LAUNCH_NODE_IPADDR": "10.1.0.5",
    "SLURM_LOCALID": "3",
    "SLURM_NNODES": "2",
    "SLURM_NODEID": "0",
    "SLURM_NPROCS": "8",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "3",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_TASKS_PER_NODE": "4(x2)",
    "SRUN_DEBUG": "3",
    "TMPDIR": "/scratch/882137",
}
NGC_CONTAINER = {
    "CUBLAS_VERSION": "12.8.4.1",
    "CUDA_ARCH_LIST": "7.5 8.0 8.6 9.0 10.0 12.0",
    "CUDA_CACHE_DISABLE": "1",
    "CUDA_DRIVER_VERSION": "570.124.06",
    "CUDA_HOME": "/usr/local/cuda",
    "CUDA_VERSION": "12.8.1.012",
    "CUDNN_VERSION": "9.8.0.87",
    "GDRCOPY_VERSION": "2.4.1",
    "HPCX_VERSION": "2.22.1",
    "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    "NCCL_VERSION": "2.25.1",
    "NVIDIA_BUILD_ID": "156593421",
    "NVIDIA_DRIVER_CAPABILITIES": "compute,utility,video",
    "NVIDIA_PYTORCH_VERSION": "25.03",
    "NVIDIA_REQUIRE_JETPACK_HOST_MOUNTS": "",
    "NVIDIA_VISIBLE_DEVICES": "all",
    "NV_CUDNN_VERSION": "9.8",
    "OMPI_MCA_coll_hcoll_enable": "0",
    "OPAL_PREFIX": "/opt/hpcx/ompi",
    "OPENMPI_VERSION": "4.1.7",
    "PYTORCH_BUILD_VERSION": "2.7.0a0+7c8ec84dab",
    "PYTORCH_HOME": "/opt/pytorch/pytorch",
    "PYTORCH_VERSION": "2.7.0a0+7c8ec84dab",
    "TORCHINDUCTOR_CUTLASS_DIR": "/opt/pytorch/pytorch/third_party/cutlass",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1",
    "TORCH_CUDA_ARCH_LIST": "7.5 8.0 8.6 9.0 10.0 12.0+PTX",
    "TORCH_CUDNN_USE_HEURISTIC_MODE_B": "1",
    "TORCH_HOME": "/workspace/.torch",
    "TORCH_NCCL_USE_COMM_NONBLOCKING": "0",
    "UCC_CL_BASIC_TLS": "^sharp",
    "USE_EXPERIMENTAL_CUDNN_V8_API": "1",
}
AWS_EFA = {
    "FI_EFA_USE_DEVICE_RDMA": "1",
    "FI_PROVIDER": "efa",
    "LD_PRELOAD": "/opt/aws-ofi-nccl/lib/libnccl-net.so",
    "NCCL_BUFFSIZE": "8388608",
    "NCCL_CROSS_NIC": "1",
    "NCCL_NET_PLUGIN": "aws-ofi",
    "NCCL_NVLS_ENABLE": "0",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "NCCL_PROTO": "simple",
    "NCCL_TUNER_PLUGIN": "/opt/aws-ofi-nccl/lib/libnccl-ofi-tuner.so",
    "OFI_NCCL_PROTOCOL": "RDMA",
    "RDMAV_FORK_SAFE": "1",
}
GCP_TCPXO = {
    "NCCL_ALGO": "Ring,Tree",
    "NCCL_FASTRAK_CTRL_DEV": "eth0",
    "NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4",
    "NCCL_FASTRAK_USE_SNAP": "1",
    "NCCL_MIN_NCHANNELS": "4",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": "/etc/guest.textproto",
    "NCCL_TUNER_CONFIG_PATH": "/etc/tuner.textproto",
    "NCCL_TUNER_PLUGIN": "libnccl-tuner.so",
}
ACCELERATE = {
    "ACCELERATE_CONFIG_DS_FIELDS": "deepspeed_hostfile,zero_stage",
    "ACCELERATE_DEEPSPEED_ZERO_STAGE": "3",
    "ACCELERATE_DYNAMO_BACKEND": "NO",
    "ACCELERATE_DYNAMO_MODE": "default",
    "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "4",
    "ACCELERATE_MIXED_PRECISION": "bf16",
    "ACCELERATE_USE_DEEPSPEED": "true",
    "DEEPSPEED_TIMEOUT": "120",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "true",
    "FSDP_SHARDING_STRATEGY": "FULL_SHARD",
    "FSDP_STATE_DICT_TYPE": "SHARDED_STATE_DICT",
    "FSDP_TRANSFORMER_CLS_TO_WRAP": "LlamaDecoderLayer",
    "FSDP_VERSION": "2",
    "HF_HOME": "/data/hf",
    "HF_HUB_OFFLINE": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "TOKENIZERS_PARALLELISM": "false",
    "WANDB_PROJECT": "llama",
}
KUBERNETES = {
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
    "MASTER_ADDR": "llama-master-0",
    "MASTER_PORT": "23456",
    "PET_MASTER_ADDR": "llama-master-0",
    "PET_MASTER_PORT": "23456",
    "PET_NNODES": "4",
    "PET_NODE_RANK": "1",
    "PET_NPROC_PER_NODE": "8",
    "PYTHONUNBUFFERED": "1",
    "RANK": "1",
    "WORLD_SIZE": "4",
}
VERSIONS = [
    {"torch": "2.4.1+cu121", "nccl": "2.20.5", "accelerate": "0.34.2", "deepspeed": "0.15.1"},
    {"torch": "2.13.0+cu128", "nccl": "2.28.9", "accelerate": "1.15.0", "deepspeed": "0.19.8"},
    {"torch": "2.15.0", "nccl": "2.30.7", "accelerate": "1.15.0", "deepspeed": None},
    {},
]
ENVIRONMENTS = {
    "torchrun": TORCHRUN_WORKER,
    "slurm": SLURM_TASK,
    "ngc": NGC_CONTAINER,
    "aws": AWS_EFA,
    "gcp": GCP_TCPXO,
    "accelerate": ACCELERATE,
    "kubernetes": KUBERNETES,
    "all": {**NGC_CONTAINER, **SLURM_TASK, **TORCHRUN_WORKER, **ACCELERATE, **AWS_EFA},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("versions", VERSIONS, ids=lambda versions: versions.get("torch", "unknown"))
def test_a_healthy_job_raises_no_alarm(
    observe: Callable[..., list[Observation]], name: str, versions: dict[str, str | None]
) -> None:
    """No warning, no error, not even a note on environments that training jobs run well with."""
    environment = dict(ENVIRONMENTS[name])
    if versions.get("accelerate") == "0.34.2":  # neither this Accelerate nor its torch knows them
        for newer in ("FSDP_VERSION", "TORCHELASTIC_SIGNALS_TO_HANDLE"):
            environment.pop(newer, None)
    assert observe(environment, **versions) == []
