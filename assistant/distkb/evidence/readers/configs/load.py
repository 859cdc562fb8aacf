"""Opens files and tells by their content what each configures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from distkb.evidence.readers.configs import known
from distkb.evidence.readers.configs.item import MAX_BYTES, ConfigPart, ConfigValue, Kind, Source, UnreadableConfigError
from distkb.evidence.text.opening import SNIFF, UnreadableError, is_binary, open_regular, reason

if TYPE_CHECKING:
    from distkb.evidence.readers.configs.yaml_file import Duplicates

SUFFIXES = frozenset({".yaml", ".yml", ".json", ".py", ".sh", ".bash", ".slurm", ".sbatch", ".job", ".sub"})
"""Names that a configuration may have; others are read only where the user names them."""
_HOSTFILE = re.compile(r"^\S{1,255}[ \t]{1,40}slots ?= ?\d", re.MULTILINE)
_FOREIGN = frozenset({"trainer", "base_model"})
"""Names that only files of other trainers have, which share many of the Trainer's names: Lightning's, axolotl's."""
_AXOLOTL = frozenset({"datasets", "micro_batch_size", "sequence_len", "sample_packing", "num_epochs", "adapter", "rl"})
_LLAMA_FACTORY = frozenset({"finetuning_type", "cutoff_len", "template", "dataset", "quantization_bit", "do_train"})
_LLAMA_FACTORY_ONLY = frozenset({"finetuning_type", "cutoff_len", "infer_backend"})
_TRL = frozenset(
    {"use_peft", "packing_strategy", "assistant_only_loss", "completion_only_loss", "dataset_text_field",
     "eval_packing", "padding_free", "precompute_ref_log_probs", "f_divergence_type", "loss_weights",
     "sync_ref_model", "num_generations", "ref_model_sync_steps", "desirable_weight", "undesirable_weight",
     "center_rewards_coefficient", "reward_funcs", "max_completion_length", "dataset_train_split",
     "dataset_test_split", "teacher_model_name_or_path", "steps_per_generation", "generation_batch_size",
     "use_bnb_nested_quant"}
)  # fmt: skip
"""Names that of the tools around the Trainer only TRL's configuration classes have."""
_TRL_MODEL = frozenset(
    {
        "packing",
        "datasets",
        "lora_r",
        "lora_alpha",
        "lora_target_modules",
        "load_in_4bit",
        "load_in_8bit",
        "dataset_name",
    }
)
"""Names that others have too: `packing`, `datasets`, or two of them, beside `model_name_or_path` are TRL's."""
_NOT_TRL = frozenset(
    {"trainer", "base_model", "stage", "rlhf_type", "train_type", "tuner_type", "finetuning_type", "dataset_mixer",
     "actor_rollout_ref", "algorithm", "lora_rank"}
)  # fmt: skip
"""Names with which such a file is another tool's: ms-swift, LLaMA-Factory, verl, the alignment handbook."""
_SHELL_NAMES = frozenset({".sh", ".bash", ".slurm", ".sbatch", ".job", ".sub"})
_LAUNCH = re.compile(r"^#SBATCH\b|\b(?:torchrun|accelerate launch|deepspeed|srun|torch\.distributed)\b", re.MULTILINE)
_SHELL_START = re.compile(r"#!.*\b(?:ba|z|da)?sh\b")
_PYTHON_START = re.compile(r"#!.*\bpython")


def is_named_so(name: str) -> bool:
    """Whether a file may be a configuration by its name."""
    return Path(name).suffix.lower() in SUFFIXES or _is_hostfile(name)


def _is_hostfile(name: str) -> bool:
    return "hostfile" in name.lower() or name.lower() in {"hosts.txt", "machinefile"}


def load_parts(path: Path) -> list[ConfigPart]:
    """Return what a file configures, in the order of its lines.

    Raises:
        UnreadableConfigError: it cannot be read, or configures nothing that is known here.
    """
    source, text = _open(path)
    if _is_hostfile(path.name) and path.suffix.lower() not in SUFFIXES and _HOSTFILE.search(text):
        return [ConfigPart(kind="hostfile", source=source, root={})]
    parts = _parts(source, text, path.suffix.lower())
    if not parts:
        raise UnreadableConfigError("no-config")
    return parts


def _open(path: Path) -> tuple[Source, str]:
    try:
        with open_regular(path) as raw:
            data = raw.read(MAX_BYTES + 1)
    except UnreadableError as error:
        raise UnreadableConfigError(error.code, error.detail) from None
    except (OSError, ValueError) as error:
        raise UnreadableConfigError("not-a-file" if path.is_dir() else reason(error)[0], reason(error)[1]) from None
    if len(data) > MAX_BYTES:
        raise UnreadableConfigError("too-large-config", f"more than {MAX_BYTES >> 20} MiB")
    if not data.strip():
        raise UnreadableConfigError("empty")
    if is_binary(data[:SNIFF]) or b"\0" in data:
        raise UnreadableConfigError("binary")
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return Source(name=str(path), lines=tuple(text.split("\n"))), text


def _parts(source: Source, text: str, suffix: str) -> list[ConfigPart]:
    from distkb.evidence.readers.configs.json_file import read_json
    from distkb.evidence.readers.configs.python_file import read_python
    from distkb.evidence.readers.configs.shell_file import read_shell
    from distkb.evidence.readers.configs.yaml_file import read_yaml

    start = text.lstrip()[:200]
    if suffix == ".py" or _PYTHON_START.match(start):
        return read_python(source, text)
    if suffix in _SHELL_NAMES or _SHELL_START.match(start):
        return read_shell(source)
    if suffix == ".json" or start.startswith("{"):
        return _from_mapping(source, *read_json(text))
    if suffix in {".yaml", ".yml"}:
        return _from_mapping(source, *read_yaml(text))
    if _LAUNCH.search(text):
        return read_shell(source)
    return _from_mapping(source, *read_yaml(text))


def _from_mapping(source: Source, root: ConfigValue, duplicates: Duplicates) -> list[ConfigPart]:
    if not isinstance(root.value, Mapping):
        raise UnreadableConfigError("no-config")
    own = _trainer(root.value)
    if own == "axolotl":
        return [ConfigPart(kind=own, source=source, root=root.value, line=root.line, duplicates=tuple(duplicates))]
    kind = _kind(root.value)
    if own is not None:
        first = ConfigPart(kind=own, source=source, root=root.value, line=root.line, duplicates=tuple(duplicates))
        kind = "training-arguments" if own == "trl" else kind
        return [first] if kind is None else [first, msgspec.structs.replace(first, kind=kind)]
    if kind is None:
        return _lightning(source, root.value, duplicates)
    return [ConfigPart(kind=kind, source=source, root=root.value, line=root.line, duplicates=tuple(duplicates))]


def _trainer(root: Mapping[str, ConfigValue]) -> Kind | None:
    """Whose training file it is, of the tools that have one of their own."""
    names = set(root)
    if "base_model" in names and names & _AXOLOTL:
        return "axolotl"
    telling = _LLAMA_FACTORY if "stage" in names else _LLAMA_FACTORY_ONLY
    if "model_name_or_path" in names and (names & telling or {"export_dir", "template"} <= names):
        return "llama-factory"
    is_own = names & _TRL or ("model_name_or_path" in names and _is_for_trl(names & _TRL_MODEL))
    if is_own and not names & _NOT_TRL and len(names & known.TRAINING_ARGUMENTS) >= 2:
        return "trl"
    return None


def _is_for_trl(names: AbstractSet[str]) -> bool:
    return not names.isdisjoint({"packing", "datasets"}) or len(names) > 1


def _kind(root: Mapping[str, ConfigValue]) -> Kind | None:
    names = set(root)
    if "compute_environment" in names or ("distributed_type" in names and names & known.ACCELERATE - {"debug"}):
        return "accelerate"
    if _is_deepspeed(root):
        return "deepspeed"
    if names & _FOREIGN:
        return None
    fsdp = {name.removeprefix("fsdp_") for name in names}
    if fsdp & known.FSDP_TELLTALE and len(fsdp & set(known.FSDP_CONFIG)) * 2 >= len(fsdp):
        return "fsdp-config"
    if names & known.ARGUMENTS_TELLTALE and len(names & known.TRAINING_ARGUMENTS) >= 2:
        return "training-arguments"
    return None


def _is_deepspeed(root: Mapping[str, ConfigValue]) -> bool:
    """Whether a mapping is DeepSpeed's file; other trainers share many of its names, but not its blocks."""
    if set(root) & known.DEEPSPEED_TELLTALE:
        return True
    blocks = {name for name, item in root.items() if isinstance(item.value, Mapping)}
    if any(get_close_matches(name, ["zero_optimization"], 1, 0.8) for name in blocks):
        return True
    own = {*known.DEEPSPEED, *known.DEEPSPEED_REMOVED}
    return "train_batch_size" in root and (
        bool(blocks & {"fp16", "bf16", "optimizer", "scheduler"}) or (len(root) > 1 and set(root) <= own)
    )


def _lightning(source: Source, root: Mapping[str, ConfigValue], duplicates: Duplicates) -> list[ConfigPart]:
    """Return the Trainer of a LightningCLI file, and its strategy where that is written as a class."""
    trainer = root.get("trainer")
    if trainer is None or not isinstance(trainer.value, Mapping) or not set(trainer.value) & known.LIGHTNING_TELLTALE:
        return []
    parts = [
        ConfigPart(
            kind="lightning-trainer",
            source=source,
            root=trainer.value,
            line=trainer.line,
            name="Trainer",
            duplicates=tuple(duplicates),
        )
    ]
    strategy: Any = trainer.value.get("strategy")
    if strategy is not None and isinstance(strategy.value, Mapping) and "class_path" in strategy.value:
        given = strategy.value.get("init_args")
        name = str(strategy.value["class_path"].value).rpartition(".")[2]
        arguments = given.value if given is not None and isinstance(given.value, Mapping) else {}
        parts.append(
            ConfigPart(kind="lightning-strategy", source=source, root=arguments, line=strategy.line, name=name)
        )
        text = f"{name}(…)"
        root_without = {**trainer.value, "strategy": ConfigValue(value=strategy.value, line=strategy.line, text=text)}
        parts[0] = msgspec.structs.replace(parts[0], root=root_without)
    return parts


def inner_parts(parts: list[ConfigPart]) -> list[ConfigPart]:
    """Return the configurations that are written inside others: an `fsdp_config`, or DeepSpeed's dict."""
    found: list[ConfigPart] = []
    for part in parts:
        wanted: dict[str, Kind] = {}
        if part.kind == "training-arguments":
            wanted = {"fsdp_config": "fsdp-config", "deepspeed": "deepspeed"}
        elif part.name in {"DeepSpeedStrategy", "deepspeed.initialize"}:
            wanted = {"config": "deepspeed", "config_params": "deepspeed"}
        elif part.name == "DeepSpeedPlugin":
            wanted = {"hf_ds_config": "deepspeed"}
        for name, kind in wanted.items():
            item = part.root.get(name)
            if item is not None and isinstance(item.value, Mapping):
                found.append(
                    ConfigPart(
                        kind=kind, source=part.source, root=item.value, line=item.line, owner=part.name or part.kind
                    )
                )
    return found
