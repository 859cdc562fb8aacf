"""Which variables matter to a distributed run, with every secret masked before it leaves this process."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from distkb_probes.secret_kinds import MASK, mask

_PREFIXES = (
    "ACCELERATE_",
    "AZUREML_",
    "CONDA_",
    "CROSS_",
    "CUBLAS",
    "CUDA",
    "CUDNN",
    "DEEPSPEED",
    "DLTS_",
    "DS_",
    "FI_",
    "FSDP",
    "GLOO",
    "GOMP",
    "GROUP_",
    "HF_",
    "HIP_",
    "HSA_",
    "HYDRA_",
    "INSTRUCTLAB_",
    "JSM_",
    "KMP_",
    "KUBERNETES_",
    "LIGHTNING_",
    "LOCAL_",
    "LSB_",
    "LSF_",
    "MASTER_",
    "MKL_",
    "MPI",
    "MV2_",
    "NCCL",
    "NVIDIA_",
    "NVSHMEM",
    "OFI_",
    "OMP_",
    "OMPI_",
    "OPENBLAS",
    "PALS_",
    "PET_",
    "PL_",
    "PMI",
    "PMIX",
    "PROCESS_GROUP_",
    "PRTE_",
    "PYTHON",
    "PYTORCH",
    "RANK",
    "RAY_",
    "RDMAV_",
    "RDZV",
    "ROCR_",
    "ROLE_",
    "SLURM",
    "SM_",
    "TENSORBOARD",
    "TORCH",
    "TRANSFORMERS_",
    "TUTEL_",
    "UCC_",
    "UCX_",
    "WORLD_",
    "XDG_CACHE",
)
_NAMES = frozenset(
    {
        "AZ_BATCHAI_MPI_MASTER_NODE",
        "AZ_BATCH_MASTER_NODE",
        "FORK_LAUNCHED",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "MASTER_ADDR",
        "MASTER_PORT",
        "NODE_RANK",
        "NNODES",
        "NPROC_PER_NODE",
        "NUM_NODES",
        "RANK",
        "STANDALONE_PORT",
        "TMPDIR",
        "TOKENIZERS_PARALLELISM",
        "USE_LIBUV",
        "VIRTUAL_ENV",
        "WANDB_INIT_TIMEOUT",
        "WANDB_MODE",
        "WORLD_SIZE",
    }
)
_WORDS = re.compile(
    r"NCCL|TORCH|CUDA|GLOO|(?:^|_)RANK(?:$|_)|WORLD_SIZE|MASTER_(?:ADDR|PORT)|COLLECTIVE|RDZV|RENDEZVOUS"
)
_HEADS = sorted(
    {prefix.rstrip("_") for prefix in _PREFIXES if len(prefix.rstrip("_")) >= 4} | {"MASTER", "WORLD", "LOCAL"}
)
_ALIKE = 0.75
"""Similarity of the first word of a misspelled name (`NCLL_DEBUG`) to one that is known."""

_SECRET_NAME = re.compile(
    r"TOKEN(?!IZERS)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE|AUTH|COOKIE|JWT|CERT_DATA|WEBHOOK|(?:^|_)(?:API_?)?KEYS?(?:$|_)"
    r"|ACCESS_KEY|(?:^|_)SIGNATURE(?:$|_)|(?:^|_)PWD?$|(?:^|_)PASS(?:$|_)|(?:^|_)DSN$",
    re.IGNORECASE,
)
_SECRET_OPTION = re.compile(
    r"^--?[\w-]*(?:token|secret|passw|api[_-]?key|access[_-]?key|credential|auth)[\w-]*$", re.IGNORECASE
)
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_LONGEST = 2000
"""Characters of a value that are kept."""


def matters(name: str) -> bool:
    """Say whether a variable of this name, or of a name that looks like a slip for one, concerns a distributed run."""
    upper = name.upper()
    if upper in _NAMES or upper.startswith(_PREFIXES) or _WORDS.search(upper):
        return True
    head, underscore, _ = upper.partition("_")
    return bool(underscore and len(head) > 2 and difflib.get_close_matches(head, _HEADS, n=1, cutoff=_ALIKE))


def masked(name: str, value: str) -> str:
    """Return the value as it may be shown: `***` where the name or the value looks like a secret."""
    if value and _SECRET_NAME.search(name):
        return MASK
    return mask_text(value)


def mask_text(text: str) -> str:
    """Mask every kind of secret in a text; control characters go, the length is limited."""
    return mask(_CONTROLS.sub(" ", text[: 2 * _LONGEST]))[:_LONGEST]


def mask_command(words: list[str]) -> str:
    """Return a command line in one string, with the value of every `--…token` or `--…password` option masked."""
    shown: list[str] = []
    hide = False
    for word in words:
        shown.append(MASK if hide else mask_text(word))
        hide = _SECRET_OPTION.match(word) is not None
    return mask(" ".join(shown))[:_LONGEST]


def select(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that matter, in order of name, masked."""
    return {name: masked(name, environment[name]) for name in sorted(environment) if matters(name)}


def parse_environ(data: bytes) -> dict[str, str]:
    """Parse the content of `/proc/PID/environ`; the first of two equal names counts, as for getenv."""
    found: dict[str, str] = {}
    for item in data.split(b"\0"):
        name, equals, value = item.partition(b"=")
        if equals and name:
            found.setdefault(name.decode("utf-8", "replace"), value.decode("utf-8", "replace"))
    return found
