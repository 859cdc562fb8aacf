"""What frames mean: which code is a library's, which calls are collectives, and where processes wait.

Function and file names were read in torch 2.13, accelerate 1.15, and CPython 3.11.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from distkb.evidence.readers.stacks.model import Frame

Kind = Literal[
    "collective",
    "barrier",
    "backward",
    "forward",
    "optimizer",
    "dataloader",
    "save",
    "eval",
    "log",
    "init",
    "compile",
    "build",
    "lock",
    "thread",
    "import",
    "io",
    "cuda-sync",
    "finished",
    "debugger",
    "user",
    "unknown",
]

WAITING: frozenset[Kind] = frozenset({"collective", "barrier", "backward", "cuda-sync"})
"""Places in which a rank may be waiting for the others."""

COLLECTIVES = re.compile(
    r"^(?:all_(?:gather|reduce|to_all)|reduce|gather|scatter|broadcast|i?send|i?recv|batch_isend_irecv|new_(?:sub)?group"
    r"|split_group)(?:_|s$|$)"
)
"""Functions of distributed_c10d that communicate, by how their names begin: versions add forms of them."""
BARRIERS = frozenset({"barrier", "monitored_barrier"})
_C10D = "torch/distributed/distributed_c10d.py"
_FUNCTIONAL = "torch/distributed/_functional_collectives.py"

Rule = tuple[Kind, re.Pattern[str], re.Pattern[str] | None]


_PAIRED = {"send": "send", "isend": "send", "send_object_list": "send", "recv": "recv", "irecv": "recv",
           "recv_object_list": "recv", "batch_isend_irecv": "both"}  # fmt: skip


def side_of_pair(operation: str) -> str:
    """Return which side of a transfer between two ranks an operation is: send, recv or both; nothing for others."""
    return _PAIRED.get(operation, "")


def _rule(kind: Kind, path: str, function: str | None = None) -> Rule:
    return kind, re.compile(path), None if function is None else re.compile(function)


RULES: tuple[Rule, ...] = (
    _rule("debugger", r"(?:^|/)(?:pdb|bdb|ipdb/__main__|code)\.py$|/debugpy/|/IPython/"),
    _rule("finished", r"(?:^|/)threading\.py$", r"^_shutdown$"),
    _rule("finished", r"(?:^|/)multiprocessing/util\.py$", r"^_exit_function$"),
    _rule("finished", r"distributed/distributed_c10d\.py$", r"^destroy_process_group$"),
    _rule("finished", r"(?:^|/)wandb/.*\.py$", r"^_?(?:finish|on_finish|atexit_cleanup|_atexit)"),
    _rule("init", r"distributed/distributed_c10d\.py$", r"^(?:init_process_group|_store_based_barrier)$"),
    _rule("init", r"torch/distributed/(?:rendezvous|elastic/rendezvous/.*)\.py$"),
    _rule("dataloader", r"torch/utils/data/(?:dataloader|_utils/fetch)\.py$|/torchdata/"),
    _rule("dataloader", r"(?:^|/)accelerate/data_loader\.py$", r"__iter__|_fetch_batches|__next__"),
    _rule("lock", r"torch/utils/(?:file_baton|_filelock)\.py$|(?:^|/)(?:filelock|portalocker|fasteners)/"),
    _rule("thread", r"(?:^|/)queue\.py$", r"^(?:join|put)$"),
    _rule("thread", r"(?:^|/)threading\.py$", r"^join$"),
    _rule("thread", r"(?:^|/)concurrent/futures/_base\.py$", r"^result$"),
    _rule("compile", r"torch/_inductor/"),
    _rule("compile", r"torch/_dynamo/(?:convert_frame|symbolic_convert|output_graph|bytecode_transformation)\.py$"),
    _rule("compile", r"(?:^|/)triton/(?:compiler|runtime/(?:build|jit|autotuner))"),
    _rule("build", r"torch/utils/cpp_extension\.py$|deepspeed/ops/op_builder/"),
    _rule("save", r"torch/serialization\.py$", r"save"),
    _rule("save", r"torch/distributed/checkpoint/|/safetensors/|torch/distributed/fsdp/_state_dict_utils\.py$"),
    _rule("save", r"torch/serialization\.py$", r"load"),
    _rule("log", r"(?:^|/)(?:wandb|mlflow|comet_ml|neptune|clearml|aim)/|torch/utils/tensorboard/"),
    _rule("cuda-sync", r"torch/(?:cuda|xpu|accelerator)/", r"^(?:synchronize|wait|current_stream_synchronize)$"),
    _rule(
        "backward",
        r"torch/(?:_tensor|autograd/__init__|autograd/graph)\.py$",
        r"^(?:backward|grad|_engine_run_backward)$",
    ),
    _rule("import", r"^<frozen importlib", r"^(?:_find_and_load|_acquire_restore_lock|acquire|_load_unlocked)"),
    _rule("io", r"(?:^|/)(?:subprocess|socket|ssl|shutil|tarfile|zipfile|gzip|ftplib)\.py$|(?:^|/)(?:http|urllib)/"),
    _rule(
        "io", r"(?:^|/)(?:urllib3|requests|httpx|httpcore|huggingface_hub|botocore|boto3|s3fs|gcsfs|fsspec|aiohttp)/"
    ),
    _rule("optimizer", r"torch/optim/"),
    _rule("forward", r"torch/nn/modules/module\.py$", r"_call_impl$"),
)
"""Tried for each frame from the innermost on; the first rule that fits a frame names the place."""

ROLES: tuple[tuple[Literal["launcher", "worker"], str, tuple[str, ...]], ...] = (
    ("worker", "torch/utils/data/_utils/worker.py", ("_worker_loop",)),
    ("worker", "torch/_inductor/compile_worker/__main__.py", ("main", "<module>")),
    ("worker", "multiprocessing/resource_tracker.py", ("main",)),
    ("worker", "multiprocessing/forkserver.py", ("main",)),
    ("launcher", "torch/distributed/elastic/agent/server/api.py", ("run", "_invoke_run")),
    ("launcher", "torch/multiprocessing/spawn.py", ("join", "start_processes")),
    ("launcher", "deepspeed/launcher/launch.py", ("main",)),
    ("launcher", "deepspeed/launcher/runner.py", ("main",)),
)
"""Calls that only processes other than the ranks are in."""

OWN_THREAD = {"queue.py": "Queue", "threading.py": "Thread", "_base.py": "Future"}
"""Classes of Python whose methods wait for what another thread of the process does, by file."""

AROUND: frozenset[Kind] = frozenset(
    {"debugger", "finished", "init", "dataloader", "save", "backward", "optimizer", "forward"}
)
"""Places that hold for the user's functions which they call: a dataset's, a hook's. A module that is imported may well
train, and a launcher of a logging service may well hold the whole program."""

IN_C = re.compile(r"torch/(?:nn/parallel/distributed|distributed/utils)\.py$")
IN_C_CALLS = {
    "_distributed_broadcast_coalesced": "broadcast",
    "_pre_forward": "broadcast",
    "_sync_buffers": "broadcast",
    "_sync_module_states": "broadcast",
    "_sync_params_and_buffers": "broadcast",
    "_verify_param_shape_across_processes": "all_gather",
}
"""Functions that call a collective in C++, so that it has no frame in distributed_c10d. `_pre_forward` of DDP's agrees
on its buckets in the second step (reducer.cpp, sync_bucket_indices)."""

FETCHES = re.compile(r"torch/utils/data/_utils/fetch\.py$")
"""What a loader without workers calls the user's data set from: the rank works there, and waits for no worker."""

SOURCE_SYNC = re.compile(
    r"\.(?:item|cpu|tolist|numpy)\(\)|cuda\.synchronize\(|\.to\(\s*['\"]cpu['\"]|\bbool\(\w+\)|torch\.isnan\(.*\)\.any\(\)"
)
BY_SOURCE: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("collective", re.compile(r"\.wait\(\)")),
    ("save", re.compile(r"\btorch\.save\(|\bsave_(?:file|model|pretrained|checkpoint|state)\(")),
    ("cuda-sync", SOURCE_SYNC),
    ("io", re.compile(r"\btime\.sleep\(|\bopen\(|\brequests\.|\burlopen\(|\binput\(")),
)
"""What a line of code that calls into C tells of the place; the first that fits."""

SAVES = re.compile(
    r"(?i)(?:^|_)(?:save|saving|checkpoint|ckpt|export|push_to_hub|upload)(?:_|$|s$|ing$)|savecheckpoint"
)
EVALUATES = re.compile(
    r"(?i)(?:^|_)(?:eval|evaluate|evaluation|validate|validation|val|test|predict|benchmark|sample|generate)(?:_|$)"
)
LOGS = re.compile(r"(?i)^(?:log|report|track)(?:_|$)|_(?:log|logging|metrics)$")
READS = re.compile(
    r"(?i)^(?:_*)(?:download|fetch_data|preprocess|tokenize|prepare_data|build_dataset|load_dataset|copy_|wait_for_file)"
)

_LIBRARIES = frozenset({
    "torch", "torchvision", "torchaudio", "torchdata", "torchtext", "torchmetrics", "accelerate", "transformers",
    "deepspeed", "pytorch_lightning", "lightning", "lightning_fabric", "lightning_utilities", "datasets", "tokenizers",
    "peft", "trl", "numpy", "scipy", "pandas", "sklearn", "PIL", "tqdm", "wandb", "mlflow", "comet_ml", "neptune",
    "clearml", "aim", "requests", "urllib3", "httpx", "httpcore", "aiohttp", "huggingface_hub", "safetensors", "fsspec",
    "s3fs", "gcsfs", "boto3", "botocore", "triton", "filelock", "click", "ray", "horovod", "apex", "megatron",
    "transformer_engine", "flash_attn", "xformers", "bitsandbytes", "hydra", "omegaconf", "tensorboard", "yaml",
    "ignite", "composer", "streaming", "webdataset", "nemo", "fairscale", "IPython", "debugpy", "joblib", "pyarrow",
})  # fmt: skip
_INSTALLED = re.compile(
    r"/(?:site|dist)-packages/|^<(?:frozen|string|attrs|__array)|/lib/python\d[.\d]*/(?!site-packages|dist-packages)|/python\d\d\.zip/"
    r"|(?:^|/)(?:distkb_probes/|distkb_trace\.py$)"
)


_HANDLER = re.compile(r"/trainer/connectors/signal_connector\.py$")
"""Lightning's own handlers of signals: on SIGTERM they tell the other ranks, with a broadcast."""


def handles_signals(path: str) -> bool:
    """Whether a frame's file is one that a library runs when a signal meets the process."""
    return _HANDLER.search(path.replace("\\", "/")) is not None


def below_signal(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the frames, innermost first, in which a signal met the process: those of its handler left out."""
    inside = [at for at, frame in enumerate(frames) if handles_signals(frame.path)]
    return frames[inside[-1] + 1 :] if inside else frames


def is_library(path: str) -> bool:
    """Whether a frame's file belongs to Python, torch, an installed package or distkb's tracer and not to the user.

    py-spy's text has only the end of a path; there the package's name decides.
    """
    path = path.replace("\\", "/")
    if not path or path.startswith("<") or _INSTALLED.search(path) is not None:
        return True
    if path.startswith("/"):
        return False
    first, _, rest = path.partition("/")
    if not rest:
        return first.removesuffix(".py") in sys.stdlib_module_names
    return first in _LIBRARIES or first in sys.stdlib_module_names


def is_python(path: str) -> bool:
    """Whether a frame's file is one of Python's own modules."""
    path = path.replace("\\", "/")
    if path.startswith("<frozen"):
        return True
    if path.startswith("/"):
        return "/lib/python" in path and not re.search(r"/(?:site|dist)-packages/", path)
    return path.partition("/")[0].removesuffix(".py") in sys.stdlib_module_names


def is_collective_file(path: str) -> bool:
    """Whether the file is one of those whose functions are the collectives."""
    return path.replace("\\", "/").endswith((_C10D, _FUNCTIONAL))
