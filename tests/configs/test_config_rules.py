"""Every rule fires on a small bad example, and says its sentence in both languages with all values filled in."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import built_in
import pytest

from distkb.catalogue.model import Catalogue
from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.readers.configs import read_configs, rules_engines
from distkb.evidence.readers.configs.rules import RULES
from distkb.locale import fill

Files = dict[str, str]
HEAD = "compute_environment: LOCAL_MACHINE\n"
FSDP = (
    HEAD + "distributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
)
DS = HEAD + "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n"
MULTI = HEAD + "distributed_type: MULTI_GPU\nnum_processes: 4\n"
C10D = "torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d"
SBATCH = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n"
OLD = {"transformers": "4.57.1"}
NEW = {"transformers": "5.23.0", "accelerate": "1.15.0", "deepspeed": "0.19.8", "lightning": "2.6.6"}


def args(text: str) -> Files:
    """A script that builds the Trainer's arguments."""
    return {"train.py": f"from transformers import TrainingArguments\nargs = TrainingArguments({text})\n"}


def zero(text: str) -> Files:
    """A DeepSpeed file with a ZeRO block."""
    return {"ds.json": f'{{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {{{text}}}}}'}


def trainer(text: str) -> Files:
    """A Lightning script."""
    return {"fit.py": f"import lightning as L\ntrainer = L.Trainer({text})\n"}


def plugin(text: str) -> Files:
    """A script that makes Accelerate's FSDP plugin."""
    return {"t.py": f"plugin = FullyShardedDataParallelPlugin(auto_wrap_policy='no_wrap', {text})\n"}


def sbatch(text: str, head: str = SBATCH) -> Files:
    """A Slurm script."""
    return {"job.sbatch": head + text + "\n"}


def zero_file(stage: int, block: str = "", more: str = "") -> str:
    """What a DeepSpeed file says that sets a stage."""
    inner = f'"stage": {stage}' + (f", {block}" if block else "")
    return f'{{"train_micro_batch_size_per_gpu": 3, "zero_optimization": {{{inner}}}{more}}}'


EVALUATES = (
    "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(deepspeed='ds.json')\n"
    "trainer = Trainer(model=m, args=args)\nbefore = trainer.evaluate()\ntrainer.train()\n"
)
AXOLOTL = "base_model: NousResearch/Llama-3.2-1B\ndatasets: [{path: alpaca, type: alpaca}]\nmicro_batch_size: 2\n"
BAD: dict[str, Files] = {
    "config.key-renamed": zero('"stage": 2, "cpu_offload": true'),
    "config.key-replaced-long-since": {
        "train.yaml": "per_device_train_batch_size: 4\nmax_steps: 10\nevaluation_strategy: epoch\n"
    },
    "config.key-deprecated": {},
    "config.key-removed": {"ds.json": '{"train_micro_batch_size_per_gpu": 2, "elasticity": {"enabled": true}}'},
    "config.key-removed-since": {"ds.json": '{"train_micro_batch_size_per_gpu": 2, "elasticity": {"enabled": true}}'},
    "config.key-replaced": args("evaluation_strategy='steps'"),
    "config.key-replaced-since": args("evaluation_strategy='steps'"),
    "config.key-unread": {},
    "config.key-ignored": {"a.yaml": FSDP + "  fsdp_version: 2\n  fsdp_use_orig_params: false\n"},
    "config.key-leftover": {"a.yaml": FSDP + "  fsdp_version: 2\n  fsdp_use_orig_params: true\n"},
    "config.duplicate-key": {"a.yaml": MULTI + "num_processes: 8\n"},
    "config.accelerate-unknown-key": {"a.yaml": MULTI + "mixed_precison: bf16\n"},
    "config.accelerate-no-such-key": {"a.yaml": MULTI + "colour: red\n"},
    "config.nested-unknown-key": {"a.yaml": FSDP + "  fsdp_state_dict_typ: SHARDED_STATE_DICT\n"},
    "config.nested-unread-key": {"a.yaml": FSDP + "  colour: red\n"},
    "config.deepspeed-unknown-key": {"ds.json": '{"train_micro_batch_size_per_gpu": 2, "gradient_clipp1ng": 1.0}'},
    "config.deepspeed-unread-key": {"ds.json": '{"train_micro_batch_size_per_gpu": 2, "colour": 1}'},
    "config.deepspeed-misplaced-key": {"ds.json": '{"train_micro_batch_size_per_gpu": 2, "overlap_comm": true}'},
    "config.deepspeed-unknown-block-key": zero('"stage": 2, "overlap_com": true'),
    "config.deepspeed-no-such-block-key": zero('"stage": 2, "colour": true'),
    "config.arguments-unknown": args("per_device_train_batchsize=4"),
    "config.arguments-not-known": args("colour=4"),
    "config.lightning-unknown-argument": trainer("device=4, strategy='ddp'"),
    "config.lightning-no-such-argument": trainer("colour=4, strategy='ddp'"),
    "config.accelerate-no-distributed-type": {"a.yaml": HEAD + "num_processes: 4\n"},
    "config.accelerate-bad-distributed-type": {"a.yaml": HEAD + "distributed_type: MULTIGPU\nnum_processes: 4\n"},
    "config.accelerate-precision-boolean": {"a.yaml": MULTI + "mixed_precision: no\n"},
    "config.accelerate-bad-precision": {"a.yaml": MULTI + "mixed_precision: float16\n"},
    "config.accelerate-num-processes-missing": {"a.yaml": HEAD + "distributed_type: MULTI_GPU\n"},
    "config.accelerate-not-distributed": {"a.yaml": HEAD + "distributed_type: 'NO'\nnum_processes: 4\n"},
    "config.accelerate-one-process": {"a.yaml": HEAD + "distributed_type: MULTI_GPU\nnum_processes: 1\n"},
    "config.accelerate-processes-per-machine": {
        "a.yaml": HEAD + "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 3\nmain_process_ip: 10.0.0.1\n"
    },
    "config.accelerate-gpu-ids-not-text": {"a.yaml": MULTI + "gpu_ids: 0\n"},
    "config.accelerate-too-few-gpus": {"a.yaml": MULTI + "gpu_ids: '0,1'\n"},
    "config.accelerate-section-ignored": {"a.yaml": MULTI + "fsdp_config:\n  fsdp_version: 2\n"},
    "config.accelerate-use-cpu": {"a.yaml": MULTI + "use_cpu: true\n"},
    "config.accelerate-main-ip-missing": {"a.yaml": MULTI + "num_machines: 2\n"},
    "config.accelerate-same-machine-rank": {
        "a.yaml": MULTI + "num_machines: 2\nmachine_rank: 0\nmain_process_ip: 10.0.0.1\n",
        "b.yaml": MULTI + "num_machines: 2\nmachine_rank: 0\nmain_process_ip: 10.0.0.1\n",
    },
    "config.accelerate-machine-rank": {"a.yaml": MULTI + "num_machines: 2\nmain_process_ip: 10.0.0.1\n"},
    "config.accelerate-no-such-machine": {
        "a.yaml": MULTI + "num_machines: 2\nmain_process_ip: 10.0.0.1\nmachine_rank: 2\n"
    },
    "config.accelerate-file-and-keys": {"a.yaml": DS + "  deepspeed_config_file: ds.json\n  zero_stage: 3\n"},
    "config.parallelism-size": {
        "a.yaml": FSDP + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_dp_shard_size: 3\n"
    },
    "config.parallelism-needs-fsdp2": {
        "a.yaml": FSDP + "  fsdp_version: 1\nparallelism_config:\n  parallelism_config_dp_shard_size: 4\n"
    },
    "config.fsdp-no-wrap-policy": {"a.yaml": FSDP.replace("TRANSFORMER_BASED_WRAP", "NO_WRAP")},
    "config.fsdp-bad-wrap-policy": {"a.yaml": FSDP.replace("TRANSFORMER_BASED_WRAP", "BLOCKS")},
    "config.fsdp-unknown-value": {"a.yaml": FSDP + "  fsdp_sharding_strategy: FULL\n"},
    "config.fsdp-size-wrap-zero": {
        "a.yaml": FSDP.replace("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP") + "  fsdp_min_num_params: 0\n"
    },
    "config.fsdp-layer-class-default": {
        "a.yaml": FSDP,
        "t.py": "import torch\nfrom accelerate import Accelerator\na = Accelerator()\n",
    },
    "config.fsdp-layer-class-ignored": {
        "a.yaml": FSDP.replace("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP")
        + "  fsdp_transformer_layer_cls_to_wrap: Block\n"
    },
    "config.fsdp2-reshard-not-bool": {
        "a.yaml": FSDP + "  fsdp_version: 2\n  fsdp_reshard_after_forward: SHARD_GRAD_OP\n"
    },
    "config.fsdp1-strategy-lost": {"a.yaml": FSDP + "  fsdp_version: 1\n  fsdp_reshard_after_forward: SHARD_GRAD_OP\n"},
    "config.fsdp1-strategy-lost-trainer": args(
        "fsdp=True, fsdp_config={'version': 1, 'reshard_after_forward': 'shard_grad_op'}"
    ),
    "config.fsdp1-strategy-lost-plugin": plugin("reshard_after_forward='SHARD_GRAD_OP'"),
    "config.fsdp2-forward-prefetch": plugin("fsdp_version=2, forward_prefetch=False"),
    "config.fsdp-policy-half-set": plugin("mixed_precision_policy={'param_dtype': torch.bfloat16}"),
    "config.fsdp-words-no-auto-wrap": args("fsdp='full_shard'"),
    "config.fsdp-loading-without-sync": {"a.yaml": FSDP + "  fsdp_version: 1\n  fsdp_sync_module_states: false\n"},
    "config.fsdp2-local-state-dict": {"a.yaml": FSDP + "  fsdp_version: 2\n  fsdp_state_dict_type: LOCAL_STATE_DICT\n"},
    "config.fsdp-full-state-dict": {"a.yaml": FSDP + "  fsdp_state_dict_type: FULL_STATE_DICT\n"},
    "config.fsdp-checkpointing-offload": {
        "a.yaml": FSDP + "  fsdp_version: 2\n  fsdp_activation_checkpointing_offload: true\n"
    },
    "config.torch-fsdp-no-wrap-policy": {
        "t.py": "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nmodel = FSDP(model)\n"
    },
    "config.fsdp-reduce-dtype-unset": {"t.py": "policy = MixedPrecision(param_dtype=torch.bfloat16)\n"},
    "config.fsdp-fp16-without-scaler": {
        "t.py": "p = MixedPrecision(param_dtype=torch.float16)\nm = FSDP(m, auto_wrap_policy=w, mixed_precision=p)\n"
    },
    "config.fsdp-plain-grad-scaler": {"t.py": "m = FSDP(m, auto_wrap_policy=w)\ns = torch.amp.GradScaler('cuda')\n"},
    "config.deepspeed-batch-mismatch": {
        "ds.json": '{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1}',
        "run.sh": "deepspeed --num_gpus 4 train.py --deepspeed_config ds.json\n",
    },
    "config.deepspeed-batch-indivisible": {"ds.json": '{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 3}'},
    "config.deepspeed-fp16-and-bf16": {
        "ds.json": '{"train_micro_batch_size_per_gpu": 3, "fp16": {"enabled": true}, "bf16": {"enabled": true}}'
    },
    "config.trainer-excludes": {"axolotl.yaml": AXOLOTL + "warmup_steps: 10\nwarmup_ratio: 0.1\n"},
    "config.trainer-indivisible": {
        "axolotl.yaml": AXOLOTL + "rl: grpo\ntrl:\n  num_generations: 3\n  generation_batch_size: 8\n"
    },
    "config.trainer-needs": {"axolotl.yaml": AXOLOTL + "load_in_8bit: true\n"},
    "config.hostfile-bad-line": {"hostfile": "worker-0 slots=8\nworker-1\n"},
    "config.hostfile-host-twice": {"hostfile": "worker-0 slots=8\nworker-0 slots=8\n"},
    "config.deepspeed-no-batch": {
        "train.py": 'import deepspeed\ndeepspeed.initialize(model=m, config={"zero_optimization": {"stage": 2}})\n'
    },
    "config.deepspeed-unknown-value": {
        "ds.json": '{"train_micro_batch_size_per_gpu": 3, "zero_optimization": {},\n"scheduler": {"type": "Cosine"}}'
    },
    "config.deepspeed-wrong-type": {"ds.json": '{"train_micro_batch_size_per_gpu": 2, "bf16": true}'},
    "config.trainer-wrong-type": {"train.yaml": "per_device_train_batch_size: 4\nmax_steps: 10\nlearning_rate: 2e-5\n"},
    "config.deepspeed-refuses": {"ds.json": '{"train_micro_batch_size_per_gpu": 0, "bf16": {"enabled": true}}'},
    "config.deepspeed-excludes": {
        "ds.json": '{"train_micro_batch_size_per_gpu": 3, "zero_optimization": {"stage": 1},\n'
        '"optimizer": {"type": "OneBitAdam"}}'
    },
    "config.deepspeed-needs": {
        "ds.json": '{"train_micro_batch_size_per_gpu": 3, "bf16": {"bf16_optimizer_states": true},\n'
        '"zero_optimization": {"stage": 1}}'
    },
    "config.trainer-refuses": {"axolotl.yaml": AXOLOTL + "rope_scaling: 2\n"},
    "config.trainer-unknown-value": {"axolotl.yaml": AXOLOTL + "rl: dpoo\n"},
    "config.lightning-clip-by-value": trainer("strategy='deepspeed_stage_2', gradient_clip_algorithm='value'"),
    "config.deepspeed-bad-stage": zero('"stage": 4'),
    "config.deepspeed-offload-param-stage": zero('"stage": 2, "offload_param": {"device": "cpu"}'),
    "config.deepspeed-nvme-path": zero('"stage": 3, "offload_param": {"device": "nvme"}'),
    "config.deepspeed-zero3-save": zero('"stage": 3'),
    "config.deepspeed-old-and-new-key": zero('"stage": 2, "cpu_offload": true, "offload_optimizer": {"device": "cpu"}'),
    "config.deepspeed-max-grad-norm": {
        "ds.json": '{"train_micro_batch_size_per_gpu": 3, '
        '"optimizer": {"type": "Adam", "params": {"max_grad_norm": 1.0}}}'
    },
    "config.deepspeed-auto-without-hf": {
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto"}',
        "run.sh": "deepspeed train.py --deepspeed_config ds.json\n",
    },
    "config.deepspeed-auto-not-filled": {"ds.json": '{"train_micro_batch_size_per_gpu": 2, "steps_per_print": "auto"}'},
    "config.deepspeed-defined-twice": {
        "ds.json": '{"train_micro_batch_size_per_gpu": 3, "optimizer": {"type": "Adam"}}',
        "t.py": "import deepspeed\ndeepspeed.initialize(model=m, optimizer=opt, config='ds.json')\n",
    },
    "config.deepspeed-no-optimizer": {
        "ds.json": zero_file(2),
        "t.py": "import deepspeed\ndeepspeed.initialize(args=a, model=m, model_parameters=groups)\n",
    },
    "config.deepspeed-optimizer-not-for-host": {
        "ds.json": zero_file(2, '"offload_optimizer": {"device": "cpu"}'),
        "t.py": "import deepspeed\nfrom torch import optim\nopt = optim.AdamW(ps)\n"
        "_, opt, _, _ = deepspeed.initialize(model=m, optimizer=opt, config='conf/ds.json')\n",
    },
    "config.deepspeed-stage-under-pipeline": {
        "ds.json": zero_file(3, "", ', "optimizer": {"type": "Adam"}'),
        "t.py": "import deepspeed\nfrom deepspeed.pipe import PipelineModule\nclass Net(PipelineModule):\n    pass\n"
        "net = build()\nnet = Net(net.layers, num_stages=2)\n"
        "deepspeed.initialize(model=net, config=args.deepspeed_config)\n",
    },
    "config.deepspeed-evaluates-first": {"ds.json": zero_file(2), "t.py": EVALUATES},
    "config.arguments-fp16-and-bf16": args("fp16=True, bf16=True"),
    "config.precision-overridden": args("bf16=True") | {"a.yaml": MULTI + "mixed_precision: fp16\n"},
    "config.fsdp-config-without-fsdp": args("fsdp_config={'version': 2}"),
    "config.fsdp-legacy-words": args("fsdp='full_shard auto_wrap'"),
    "config.fsdp2-no-such-strategy": args("fsdp='hybrid_shard', fsdp_config={'version': 2}"),
    "config.fsdp-and-deepspeed": args("fsdp=True, deepspeed='ds.json'"),
    "config.fsdp-checkpointing-twice": args(
        "fsdp=True, activation_checkpointing=True, fsdp_config={'activation_checkpointing': True}"
    ),
    "config.save-only-model-best": args("fsdp=True, save_only_model=True, load_best_model_at_end=True"),
    "config.save-only-model-sharded": args(
        "fsdp=True, save_only_model=True, fsdp_config={'state_dict_type': 'SHARDED_STATE_DICT'}"
    ),
    "config.find-batch-size-zero3": args("auto_find_batch_size=True, deepspeed='ds.json'") | zero('"stage": 3'),
    "config.accumulation-in-accelerator-config": args(
        "gradient_accumulation_steps=4, accelerator_config={'gradient_accumulation_kwargs': {'num_steps': 2}}"
    ),
    "config.accumulation-differs": args("gradient_accumulation_steps=4")
    | {"a.yaml": DS + "  zero_stage: 2\n  gradient_accumulation_steps: 1\n"},
    "config.accumulation-overridden": {
        "t.py": "from accelerate import Accelerator\na = Accelerator(gradient_accumulation_steps=4)\n",
        "a.yaml": DS + "  zero_stage: 2\n  gradient_accumulation_steps: 1\n",
    },
    "config.deepspeed-differs-from-arguments": args("per_device_train_batch_size=4, deepspeed='ds.json'")
    | zero('"stage": 2'),
    "config.torchrun-standalone-nodes": {"run.sh": "torchrun --standalone --nnodes=2 --nproc-per-node=8 t.py\n"},
    "config.torchrun-standalone-rdzv": {
        "run.sh": "torchrun --standalone --rdzv-endpoint=h:29400 --nproc-per-node=8 t.py\n"
    },
    "config.torchrun-static-no-master": {"run.sh": "torchrun --nnodes=2 --node-rank=0 --nproc-per-node=8 t.py\n"},
    "config.torchrun-no-endpoint": {"run.sh": "torchrun --nnodes=2 --rdzv-backend=c10d --nproc-per-node=8 t.py\n"},
    "config.torchrun-no-node-rank": {"run.sh": "torchrun --nnodes=2 --master-addr=h0 --nproc-per-node=8 t.py\n"},
    "config.torchrun-static-only": {
        "run.sh": "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=h:1 --node-rank=1 --nproc-per-node=8 t.py\n"
    },
    "config.torchrun-one-process": {"run.sh": "CUDA_VISIBLE_DEVICES=0,1 torchrun t.py\n"},
    "config.deepspeed-visible-ignored": {"run.sh": "CUDA_VISIBLE_DEVICES=2,3 deepspeed --num_gpus 2 t.py\n"},
    "config.launch-too-few-gpus": {"run.sh": "export CUDA_VISIBLE_DEVICES=0,1\ntorchrun --nproc_per_node=4 t.py\n"},
    "config.launcher-option-after-script": {"run.sh": "accelerate launch t.py --num_processes 4\n"},
    "config.two-launchers": {"run.sh": "accelerate launch --num_processes 2 torchrun --nproc-per-node 2 t.py\n"},
    "config.launch-deprecated": {"run.sh": "python -m torch.distributed.launch --nproc_per_node=2 t.py\n"},
    "config.accelerate-two-modes": {"run.sh": "accelerate launch --multi_gpu --use_fsdp --num_processes 2 t.py\n"},
    "config.accelerate-multi-gpu-one": {"run.sh": "accelerate launch --multi_gpu --num_processes 1 t.py\n"},
    "config.num-processes-overridden": {"a.yaml": MULTI, "run.sh": "accelerate launch --num_processes 2 t.py\n"},
    "config.sbatch-tasks-with-launcher": sbatch(
        "srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$H:29400 t.py",
        SBATCH + "#SBATCH --ntasks-per-node=8\n",
    ),
    "config.sbatch-without-srun": sbatch(
        "torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$H:29400 t.py"
    ),
    "config.sbatch-python-without-srun": sbatch("python t.py", SBATCH + "#SBATCH --ntasks-per-node=8\n"),
    "config.sbatch-nodes-differ": sbatch(
        "srun torchrun --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$H:29400 t.py"
    ),
    "config.sbatch-nodes-alone": sbatch("srun torchrun --standalone --nproc-per-node=8 t.py"),
    "config.sbatch-too-few-gpus": sbatch("srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=16 t.py"),
    "config.accelerate-one-rank-for-all": {
        "acc.yaml": MULTI + "num_machines: 2\nmachine_rank: 0\nmain_process_ip: 10.0.0.1\n",
        "go.sh": "for h in a b; do\n  ssh $h 'cd /w && accelerate launch --config_file acc.yaml t.py' &\ndone\n",
    },
    "config.accelerate-alone-on-gpus": {
        "acc.yaml": HEAD + "distributed_type: 'NO'\nnum_processes: 1\n",
        **sbatch("accelerate launch --config_file acc.yaml t.py", "#!/bin/bash\n#SBATCH --gres=gpu:4\n"),
    },
    "config.accelerate-idle-gpus": {
        "acc.yaml": HEAD + "distributed_type: FSDP\nnum_processes: 8\nnum_machines: 2\nmain_process_ip: a\n",
        **sbatch("srun bash -c 'accelerate launch --config_file acc.yaml --machine_rank $SLURM_NODEID t.py'"),
    },
    "config.deepspeed-under-srun": sbatch(
        "srun deepspeed --hostfile hosts t.py", SBATCH + "#SBATCH --ntasks-per-node=1\n"
    ),
    "config.deepspeed-hostfile-unread": {"hostfile": "a slots=8\nb slots=8\n", "go.sh": "deepspeed t.py\n"},
    "config.ssh-ends-before-launch": {
        "go.sh": "ssh $h cd /w && source env && torchrun --nnodes=2 --node-rank=$r --master-addr=a t.py &\n"
    },
    "config.container-too-few-gpus": {
        "go.sh": "docker run --gpus '\"device=0,1\"' image torchrun --standalone --nproc-per-node=4 t.py\n"
    },
    "config.lightning-without-srun": {
        **trainer("devices=4, num_nodes=2, strategy='ddp'"),
        **sbatch("python fit.py", SBATCH + "#SBATCH --ntasks-per-node=4\n"),
    },
    "config.port-for-two-jobs": {
        "go.sh": "torchrun --nproc-per-node=2 a.py > a.log &\ntorchrun --nproc-per-node=2 b.py &\nwait\n"
    },
    "config.sbatch-idle-gpus": sbatch("srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 t.py"),
    "config.srun-expanded-early": sbatch(
        "srun torchrun --nnodes=2 --nproc-per-node=8 --node-rank=$SLURM_NODEID --master-addr=$H t.py"
    ),
    "config.trainer-in-one-process": {
        "t.py": "from transformers import Trainer\nTrainer(model, args, train_dataset=d).train()\n",
        **sbatch("python t.py", "#!/bin/bash\n#SBATCH --gres=gpu:4\n"),
    },
    "config.accelerate-expanded-early": sbatch(
        "srun accelerate launch --num_machines 2 --num_processes 16 --machine_rank $SLURM_NODEID"
        " --main_process_ip $H t.py"
    ),
    "config.accelerate-fixed-rank": sbatch(
        "srun accelerate launch --num_machines 2 --num_processes 16 --machine_rank 0 --main_process_ip $H t.py"
    ),
    "config.srun-fixed-node-rank": sbatch(
        "srun torchrun --nnodes=2 --nproc-per-node=8 --node-rank=0 --master-addr=$H t.py"
    ),
    "config.master-addr-own-name": sbatch(
        "srun bash -c 'MASTER_ADDR=$(hostname) torchrun --nnodes=2 --nproc-per-node=8 --node-rank=$SLURM_NODEID t.py'"
    ),
    "config.srun-one-task": sbatch("srun python t.py"),
    "config.loopback-endpoint": sbatch(f"srun {C10D} --rdzv-id=1 --rdzv-endpoint=localhost:29400 t.py"),
    "config.loopback-master": sbatch(
        "srun bash -c 'torchrun --nnodes=2 --nproc-per-node=8 --node-rank=$SLURM_NODEID --master-addr=127.0.0.1 t.py'"
    ),
    "config.endpoint-own-name": sbatch(f"srun bash -c '{C10D} --rdzv-id=1 --rdzv-endpoint=$(hostname):29400 t.py'"),
    "config.endpoint-nodelist": sbatch(f"srun {C10D} --rdzv-id=1 --rdzv-endpoint=$SLURM_JOB_NODELIST:29400 t.py"),
    "config.rdzv-id-per-task": sbatch(f"srun bash -c '{C10D} --rdzv-id=$RANDOM --rdzv-endpoint=$H:29400 t.py'"),
    "config.torchrun-no-rdzv-id": sbatch(f"srun {C10D} --rdzv-endpoint=$H:29400 t.py"),
    "config.torchrun-no-rdzv-id-shared": sbatch(
        "srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=etcd-v2 --rdzv-endpoint=etcd:2379 t.py"
    ),
    "config.step-smaller-than-job": sbatch(f"srun --nodes=1 --ntasks=1 {C10D} --rdzv-id=1 --rdzv-endpoint=$H:1 t.py"),
    "config.mpirun-tasks-with-launcher": sbatch(f"mpirun -np 16 {C10D} --rdzv-id=1 --rdzv-endpoint=$H:29400 t.py"),
    "config.rank-exported": sbatch("export RANK=0\nsrun --ntasks=16 python t.py"),
    "config.world-size-differs": sbatch("export WORLD_SIZE=2\nsrun --ntasks=16 python t.py"),
    "config.srun-not-exported": sbatch(f"H=h0\nsrun bash -c '{C10D} --rdzv-id=1 --rdzv-endpoint=$H:29400 t.py'"),
    "config.srun-never-expanded": sbatch(
        "srun torchrun --nnodes=2 --nproc-per-node=8 --node-rank='$SLURM_NODEID' --master-addr=$H t.py"
    ),
    "config.sbatch-expanded-at-submission": {
        "submit.sh": f'sbatch -N 2 --wrap "srun {C10D} --rdzv-id=1 --rdzv-endpoint=$(hostname):29400 t.py"\n'
    },
    "config.sbatch-line-ignored": sbatch("module load cuda\n#SBATCH --exclusive\nsrun --ntasks=16 python t.py"),
    "config.lightning-bad-strategy": trainer("strategy='fsdp2', devices=4"),
    "config.lightning-needs-gpu": trainer("strategy='fsdp', accelerator='cpu'"),
    "config.lightning-one-device": trainer("strategy='ddp', devices=1"),
    "config.lightning-fsdp-precision": trainer("strategy='fsdp', precision='64-true'"),
    "config.lightning-precision-twice": trainer(
        "strategy=FSDPStrategy(mixed_precision=mp, auto_wrap_policy=w), precision='bf16-mixed'"
    ),
    "config.lightning-fsdp-clip-norm": trainer("strategy='fsdp', gradient_clip_val=1.0"),
    "config.lightning-deepspeed-accumulation": trainer("strategy='deepspeed_stage_2'")
    | {"ds.json": '{"train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 4}'},
    "config.lightning-no-sampler": trainer("strategy='ddp', use_distributed_sampler=False"),
    "config.lightning-slurm-tasks": trainer("strategy='ddp', devices=8, num_nodes=2")
    | sbatch("srun python fit.py", SBATCH + "#SBATCH --ntasks-per-node=4\n"),
    "config.lightning-slurm-ntasks": trainer("strategy='ddp', devices=8, num_nodes=2")
    | sbatch("srun python fit.py", SBATCH + "#SBATCH --ntasks=16\n"),
    "config.lightning-slurm-nodes": trainer("strategy='ddp', devices=8, num_nodes=4")
    | sbatch("srun python fit.py", SBATCH + "#SBATCH --ntasks-per-node=8\n"),
    "config.lightning-fsdp-no-wrap-policy": trainer("strategy=FSDPStrategy()"),
    "config.lightning-deepspeed-ignored": trainer("strategy=DeepSpeedStrategy(config='ds.json', stage=3)"),
}
"""A small job for every rule that finds exactly what the id says (and perhaps more)."""
ONLY_DATA = {"config.key-deprecated", "config.key-unread"}
"""Fire on records that the built-in settings do not have at present."""


@cache
def catalogue() -> Catalogue:
    """The built-in knowledge base."""
    return built_in.catalogue()


def read(folder: Path, files: Files, versions: dict[str, str]) -> ArtifactReading:
    """Write the files and read them as one job."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return read_configs(
        [folder / name for name in files], catalogue().settings, versions, refusals=catalogue().refusals
    )


def test_every_rule_has_an_example_and_a_record() -> None:
    """A rule without a bad example, or without a sentence, cannot be added."""
    ids = {identity for rule in RULES for identity in rule.ids}
    assert ids == set(BAD)
    assert ids == {finding.id for finding in catalogue().findings if finding.id.startswith("config.")}


@pytest.mark.parametrize("identity", sorted(set(BAD) - ONLY_DATA))
def test_a_rule_fires_on_its_bad_example(tmp_path: Path, identity: str) -> None:
    """The finding is there, points to a line of a file, and its sentence and fix can be said in both languages."""
    versions = {} if identity.endswith("-since") else OLD if identity.endswith("no-auto-wrap") else NEW
    reading = read(tmp_path, BAD[identity], versions)
    assert not reading.skipped
    found = [o for o in reading.observations if o.id == identity]
    assert found, [o.id for o in reading.observations]
    assert identity not in reading.clear
    record = next(finding for finding in catalogue().findings if finding.id == identity)
    for observation in found:
        assert observation.quotes
        for quote in observation.quotes:
            assert quote.path is not None
            assert quote.line is not None
            line = Path(quote.path).read_text(encoding="utf-8").split("\n")[quote.line - 1]
            assert quote.text in line
        for text in (record.says, record.fix):
            assert text is not None
            for language in (text.en, text.ko):
                said = fill(language, observation.values)
                assert "/를}" not in said
                assert "None" not in said


def test_a_finding_is_clear_where_it_was_looked_for_and_absent(tmp_path: Path) -> None:
    """What a file of that kind could show and does not is reported as clear; other kinds are not mentioned."""
    reading = read(tmp_path, {"a.yaml": MULTI}, NEW)
    assert "config.accelerate-unknown-key" in reading.clear
    assert not any(identity.startswith("config.lightning") for identity in reading.clear)


def test_a_key_that_the_installed_version_still_takes_is_no_finding(tmp_path: Path) -> None:
    """An old name is silent with a version that reads it."""
    reading = read(tmp_path, args("evaluation_strategy='steps'"), {"transformers": "4.44.0"})
    assert not reading.observations


OFFLOAD = '"offload_optimizer": {"device": "cpu"}'
START = "import deepspeed\nfrom torch import optim\nfrom deepspeed.pipe import PipelineModule\n"
HELPER = """from torch import optim
def stepper(net, rate):
    groups = [p for p in net.parameters() if p.requires_grad]
    return optim.AdamW(groups, lr=rate)
"""
HELPED = """import deepspeed
import json
from steps import stepper
def settings(path='conf/ds.json'):
    with open(path) as file:
        ds = json.load(file)
    ds['train_micro_batch_size_per_gpu'] = 4
    return ds
def main(net):
    engine, *_ = deepspeed.initialize(model=net, optimizer=stepper(net, 1e-4), config=settings())
"""
ALLOWED: dict[str, Files] = {
    "stage 3 without an optimizer": {
        "ds.json": zero_file(3),
        "t.py": START + "deepspeed.initialize(args=a, model=m)\n",
    },
    "the script completes what it read of the file": {
        "ds.json": zero_file(2),
        "t.py": START + "ds = json.load(open('ds.json'))\nds['optimizer'] = block\n"
        "deepspeed.initialize(model=m, config=ds)\n",
    },
    "another file": {
        "ds.json": zero_file(2),
        "t.py": START + "deepspeed.initialize(model=m, config='other.json')\n",
    },
    "offload told to take any optimizer": {
        "ds.json": zero_file(2, OFFLOAD, ', "zero_force_ds_cpu_optimizer": false'),
        "t.py": START + "opt = optim.AdamW(ps)\ndeepspeed.initialize(a, m, opt, config='ds.json')\n",
    },
    "an optimizer for each case": {
        "ds.json": zero_file(2, OFFLOAD),
        "t.py": START + "if offload:\n    opt = DeepSpeedCPUAdam(ps)\nelse:\n    opt = optim.AdamW(ps)\n"
        "deepspeed.initialize(a, m, opt, config='ds.json')\n",
    },
    "an optimizer that is exchanged": {
        "ds.json": zero_file(2, OFFLOAD),
        "t.py": START + "opt = optim.AdamW(ps)\nif offload:\n    opt = DeepSpeedCPUAdam(ps)\n"
        "deepspeed.initialize(a, m, opt, config='ds.json')\n",
    },
    "a helper that gives back an optimizer for each case": {
        "ds.json": zero_file(2, OFFLOAD),
        "steps.py": HELPER.replace("    return", "    if on_host:\n        return HostAdam(groups)\n    return"),
        "t.py": HELPED,
    },
    "a helper of another module": {
        "ds.json": zero_file(2, OFFLOAD),
        "steps.py": HELPER,
        "t.py": HELPED.replace("from steps", "from host.steppers"),
    },
    "a script that may take the offload out of what it read": {
        "ds.json": zero_file(2, OFFLOAD),
        "steps.py": HELPER,
        "t.py": HELPED.replace("ds['train", "ds['zero_optimization'].pop('offload_optimizer')\n    ds['train"),
    },
    "what was read is merged with something else": {
        "ds.json": zero_file(2, OFFLOAD),
        "steps.py": HELPER,
        "t.py": HELPED.replace("ds['train", "ds.update(more)\n    ds['train"),
    },
    "a file that the script does not name": {
        "ds.json": zero_file(2, OFFLOAD),
        "steps.py": HELPER,
        "t.py": HELPED.replace("ds.json", "other.json"),
    },
    "stage 1 under a pipeline": {
        "ds.json": zero_file(1),
        "t.py": START + "net = PipelineModule(layers, num_stages=2)\n"
        "deepspeed.initialize(args=a, model=net, optimizer=opt)\n",
    },
    "a pipeline only if asked for": {
        "ds.json": zero_file(2),
        "t.py": START + "net = build()\nif pipe:\n    net = PipelineModule(net.layers, num_stages=2)\n"
        "deepspeed.initialize(args=a, model=net, optimizer=opt)\n",
    },
    "evaluation under stage 3": {"ds.json": zero_file(3), "t.py": EVALUATES},
    "evaluation behind the training": {
        "ds.json": zero_file(2),
        "t.py": EVALUATES.replace(
            "before = trainer.evaluate()\ntrainer.train()", "trainer.train()\ntrainer.evaluate()"
        ),
    },
    "a trainer of the script's own": {
        "ds.json": zero_file(2),
        "t.py": EVALUATES.replace("import Trainer, TrainingArguments", "import TrainingArguments"),
    },
    "a file that nobody is given": {"ds.json": zero_file(2), "t.py": EVALUATES.replace("deepspeed='ds.json'", "")},
}
ENGINES = {identity for rule in rules_engines.RULES for identity in rule.ids}


@pytest.mark.parametrize("files", ALLOWED.values(), ids=ALLOWED)
def test_what_an_engine_takes_is_no_finding(tmp_path: Path, files: Files) -> None:
    """An error is told only where nothing else can come of the script and the file."""
    assert not {one.id for one in read(tmp_path, files, NEW).observations} & ENGINES


@pytest.mark.parametrize(
    "files",
    [
        {"steps.py": HELPER, "t.py": HELPED},
        {"steps.py": HELPER.replace("return", "made =") + "    return made\n", "t.py": HELPED},
        {"t.py": HELPER + HELPED.replace("from steps import stepper\n", "")},
        {
            "steps.py": HELPER,
            "t.py": HELPED.replace("stepper(net, 1e-4)", "steps").replace(
                "    engine", "    steps = stepper(net, 1e-4)\n    engine"
            ),
        },
        {
            "steps.py": HELPER,
            "t.py": HELPED.replace("config=settings()", "config=read").replace(
                "    engine", "    read = settings()\n    engine"
            ),
        },
        {"steps.py": HELPER, "t.py": HELPED.replace("config=settings()", "config='conf/ds.json'")},
    ],
)
def test_an_optimizer_that_a_helper_makes_is_seen(tmp_path: Path, files: Files) -> None:
    """Also where the script completes what it reads of the file, but for the offload."""
    found = read(tmp_path, files | {"ds.json": zero_file(2, OFFLOAD)}, NEW).observations
    assert [one.id for one in found if one.id in ENGINES] == ["config.deepspeed-optimizer-not-for-host"]


def test_older_versions_offload_any_optimizer(tmp_path: Path) -> None:
    """DeepSpeed refuses torch's optimizers under offload since 0.8.3."""
    files = BAD["config.deepspeed-optimizer-not-for-host"]
    assert not {one.id for one in read(tmp_path, files, {"deepspeed": "0.8.2"}).observations} & ENGINES


@pytest.mark.parametrize(
    "files",
    [
        {"a.yaml": DS + "  zero_stage: 1\n", "t.py": EVALUATES.replace("deepspeed='ds.json'", "")},
        {"t.py": EVALUATES.replace("'ds.json'", "{'zero_optimization': {'stage': 0}}")},
        {
            "ds.json": zero_file(2),
            "run.sh": "deepspeed t.py --deepspeed conf/ds.json\n",
            "t.py": EVALUATES.replace("TrainingArguments(deepspeed='ds.json')", "parse()"),
        },
        {
            "ds.json": zero_file(2),
            "t.py": EVALUATES.replace("trainer = Trainer", "class T(Trainer):\n    pass\ntrainer = T"),
        },
    ],
)
def test_an_evaluation_before_the_training_is_seen_however_the_stage_is_given(tmp_path: Path, files: Files) -> None:
    """In a file of Accelerate, in the arguments, and on the command line; and of a trainer made out of another."""
    found = {one.id for one in read(tmp_path, files, NEW).observations}
    assert "config.deepspeed-evaluates-first" in found


VALUES = ("null", "[]", "{}", "-1", '"x"', "true", '"auto"', "[1]", '{"a": 1}', "1e99", '""', "*a", "$X")
SIGNS: tuple[str, ...] = ("", *"{}[]\"':,#*&$`\n\\")


def mangled(text: str, chance: random.Random) -> str:
    """The text with a value exchanged, a piece cut out or a sign put in."""
    values = list(re.finditer(r"(?<=[:=] )\S+|(?<==)[^\s,)]+", text))
    if values and chance.random() < 0.5:
        found = chance.choice(values)
        return f"{text[: found.start()]}{chance.choice(VALUES)}{text[found.end() :]}"
    at = chance.randrange(len(text))
    return text[:at] + chance.choice(SIGNS) + text[at + chance.randint(0, 9) :]


def test_mangled_files_never_raise(tmp_path: Path) -> None:
    """Whatever is written where something else is expected, the reader answers."""
    chance = random.Random(7)
    documents = sorted({(name, text) for files in BAD.values() for name, text in files.items()})
    for _ in range(400):
        files = {f"{n}{name}": mangled(text, chance) for n, (name, text) in enumerate(chance.sample(documents, 2))}
        read(tmp_path, files, chance.choice([{}, NEW, OLD]))


def test_a_trainer_of_another_library_is_not_lightnings(tmp_path: Path) -> None:
    """Arguments are judged by Lightning's only where the class may be Lightning's."""
    call = "from composer import Trainer\ntrainer = Trainer(device='gpu', precision='amp', max_duration=2)\n"
    assert not read(tmp_path, {"fit.py": call}, NEW).observations


SOUND: dict[str, Files] = {
    "config.accelerate-one-rank-for-all": {
        "acc.yaml": MULTI + "num_machines: 2\nmachine_rank: 0\nmain_process_ip: 10.0.0.1\n",
        "go.sh": 'for h in a b; do\n  ssh $h "accelerate launch --machine_rank $i t.py" &\n  i=$((i + 1))\ndone\n',
    },
    "config.accelerate-alone-on-gpus": {
        "acc.yaml": HEAD + "distributed_type: 'NO'\nnum_processes: 1\n",
        **sbatch("accelerate launch --multi_gpu --num_processes 4 t.py", "#!/bin/bash\n#SBATCH --gres=gpu:4\n"),
    },
    "config.accelerate-idle-gpus": {
        "acc.yaml": HEAD + "distributed_type: FSDP\nnum_processes: 16\nnum_machines: 2\nmain_process_ip: a\n",
        **sbatch("srun bash -c 'accelerate launch --config_file acc.yaml --machine_rank $SLURM_NODEID t.py'"),
    },
    "config.deepspeed-under-srun": sbatch(
        "srun deepspeed --hostfile hosts --no_ssh --node_rank=$SLURM_NODEID --master_addr=$H t.py",
        SBATCH + "#SBATCH --ntasks-per-node=1\n",
    ),
    "config.deepspeed-hostfile-unread": {"hostfile": "a slots=8\nb slots=8\n", "go.sh": "deepspeed -H hostfile t.py\n"},
    "config.ssh-ends-before-launch": {"go.sh": "ssh $h mkdir -p /w && torchrun --standalone --nproc-per-node=2 t.py\n"},
    "config.container-too-few-gpus": {
        "go.sh": "docker run --gpus all -e A=1 image torchrun --standalone --nproc-per-node=4 t.py\n"
    },
    "config.port-for-two-jobs": {
        "go.sh": "torchrun --nproc-per-node=2 a.py &\nwait\ntorchrun --nproc-per-node=2 b.py &\nwait\n"
        "for i in 1 2; do\n  torchrun --nproc-per-node=2 c.py &\n  wait\ndone\n"
        "torchrun --nproc-per-node=2 --master-port=1 d.py &\ntorchrun --nproc-per-node=2 --master-port=2 d.py\n"
    },
    "config.endpoint-own-name": {
        "go.sh": "torchrun --nnodes=2 --node-rank=0 --master-addr=$(hostname) --nproc-per-node=8 t.py\n"
    },
}


@pytest.mark.parametrize("name", SOUND)
def test_a_rule_leaves_alone_what_only_looks_like_its_fault(tmp_path: Path, name: str) -> None:
    """The nearest sound way to write it is not told of."""
    reading = read(tmp_path, SOUND[name], NEW)
    assert name not in {observation.id for observation in reading.observations}
