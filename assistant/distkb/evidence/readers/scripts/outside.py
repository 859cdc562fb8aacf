"""What calls of libraries, and names as people choose them, say about a value: whether it differs from rank to rank."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from distkb.evidence.readers.scripts.definitions import Function

Origin = Literal[
    "rank", "part", "batch", "measure", "clock", "chance", "salt", "file", "machine", "exception", "agreed"
]
"""What differs: the rank's number, its part of the data (how much it has), the content of a batch, a number that it
measured (loss, metric), the time, a random number, the salt of its hashes, the state of the file system, of the
machine, an exception; `agreed` is a value that a collective made the same on all ranks."""


class Reason(msgspec.Struct, frozen=True, eq=False):
    """One thing that a value depends on, with the place that shows it."""

    origin: Origin
    function: Function
    node: ast.AST


_CLOCKS = re.compile(
    r"^(?:time\.(?:time|monotonic|perf_counter|process_time)(?:_ns)?|datetime\.(?:datetime\.)?(?:now|utcnow|today))$"
)
_CHANCES = re.compile(
    r"^(?:random|numpy\.random|np\.random|secrets|uuid)\.\w+"
    r"|^torch\.(?:rand|randn|randint|randperm|bernoulli|multinomial)\w*$"
)
_CHANCE_METHODS = frozenset(
    {"random", "randint", "uniform", "choice", "choices", "shuffle", "randrange", "sample", "integers"}
)
_GENERATOR = re.compile(r"(?i)rng|random|gen")
_FILES = re.compile(
    r"^(?:os\.(?:path\.(?:exists|isfile|isdir|getsize|getmtime)|listdir|scandir|stat|walk)"
    r"|glob\.i?glob|shutil\.disk_usage)$"
)
_FILE_METHODS = frozenset(
    {"exists", "is_file", "is_dir", "iterdir", "glob", "rglob", "stat", "read_text", "read_bytes"}
)
_MACHINE = re.compile(
    r"^(?:psutil\.\w+|socket\.gethostname|os\.(?:getpid|cpu_count|uname|getloadavg)"
    r"|torch\.cuda\.(?:memory_\w+|max_memory_\w+|mem_get_info)|platform\.node)"
)
MEASURED = re.compile(
    r"(?i)(?:^|_)(?:loss|losses|acc|accuracy|metric|metrics|score|ppl|perplexity|f1|auc|bleu|wer|mse|mae|err|error"
    r"|gnorm|grad_norm|norm|reward|kl|return)s?(?:_(?:val|value|avg|mean|item|sum|now|cur))?$"
)
"""Names of numbers that a rank measures on its own batches, unless a collective has averaged them."""
MEASURES = re.compile(r"(?i)loss|entropy|criterion|metric|accurac|evaluat|validat|score|perplexity|error")
"""Calls that measure something on what they are given."""
LOADERS = re.compile(r"(?i)(?:^|_)(?:loader|dataloader|dl|iterator|it|stream|reader|queue|batches)s?$|loader$")
BATCHES = re.compile(
    r"(?i)^(?:batch|batches|inputs?|x|y|xb|yb|images?|labels?|targets?|tokens?|ids|input_ids|mask|attention_mask"
    r"|samples?|examples?|item|row|record|features|data)$"
)
MAKERS = re.compile(r"^torch\.(?:rand|randn|randint|zeros|ones|empty|full|arange)$")
"""Calls that make as much as their arguments say."""
NO_LENGTH = frozenset(
    {
        "batch_size", "shuffle", "num_workers", "pin_memory", "desc", "disable", "collate_fn", "seed", "total",
        "device", "device_ids", "device_id", "output_device", "position", "rank", "generator",
        "rng", "random_state", "dtype",
    }
)  # fmt: skip
"""Arguments that do not say how much a loader gives."""
EVEN = frozenset({"DistributedSampler", "DistributedBatchSampler", "prepare_data_loader", "split_dataset_by_node"})
"""Calls that give every rank as much as the others, whatever rank they are told."""
READERS = re.compile(
    r"^(?:open|gzip\.open|io\.open|torch\.load|numpy\.(?:load|loadtxt|genfromtxt|memmap)|json\.load|pickle\.load"
    r"|pandas\.read_\w+|datasets\.(?:load_dataset|load_from_disk))$"
)
"""Calls that give what a file holds, however much that is."""
DEVICES = frozenset({"map_location", "device", "device_id", "device_ids", "output_device", "non_blocking"})
"""Arguments that say where values shall lie, which changes none of them."""
PLACES = frozenset({"to", "cuda"})
"""Methods whose arguments say only that."""
SAME = frozenset({"isinstance", "issubclass", "hasattr", "callable", "getattr", "type"})
"""Questions about what a value is, which every rank answers alike."""
SOURCES_OF_CHANCE = frozenset({"Generator", "manual_seed", "seed", "default_rng", "RandomState", "Random"})
"""Calls that make what random numbers come from: it decides which, and not how many."""
OF_MODELS = frozenset(
    {"parameters", "named_parameters", "modules", "named_modules", "buffers", "named_buffers", "children", "state_dict"}
)
"""Methods of models, which have as many parts on every rank."""
BY_VALUE = frozenset(
    {
        "unique", "unique_consecutive", "nonzero", "argwhere", "masked_select", "set", "frozenset", "Counter",
        "groupby", "findall", "split", "splitlines",
    }
)  # fmt: skip
"""Calls that give as many things as the values of their argument have it."""
_COUNTS = frozenset({"len", "int", "min", "max", "sum", "ceil", "floor"})


def of_library(full: str, node: ast.Call) -> Origin | None:
    """Return what the result of a call outside of the project depends on, by its dotted name; None where unknown."""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if _CLOCKS.match(full):
        return "clock"
    if _CHANCES.match(full) or (method in _CHANCE_METHODS and _GENERATOR.search(full)):
        return "chance"
    if full == "hash" and not isinstance(getattr(node.args[:1] and node.args[0], "value", None), (int, float)):
        return "salt"
    if method in {"get_coordinate", "get_local_rank"}:  # of a device mesh
        return "rank"
    if _FILES.match(full) or method in _FILE_METHODS:
        return "file"
    return "machine" if _MACHINE.match(full) else None


def is_count(node: ast.expr) -> bool:
    """Whether a method that returns this gives a number: arithmetic, or a call such as `len(…)`."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", getattr(node.func, "attr", "")) in _COUNTS
    return isinstance(node, (ast.BinOp, ast.Attribute, ast.Name))
