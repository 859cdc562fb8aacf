"""Rules for an `fsdp_config`, of Accelerate or of the Trainer, and for FSDP calls in a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, number, truth
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, Fsdp, fsdp_of, hit, short

_STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")
_POLICIES = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")


def _policy(fsdp: Fsdp) -> str:
    item = fsdp.get("auto_wrap_policy")
    if item is None or item.value is None:
        return "TRANSFORMER_BASED_WRAP" if fsdp.place == "fsdp-config" else "NO_WRAP"
    return str(item.value).upper()


def _is_own_model(job: ConfigContext) -> bool:
    """Whether the scripts that were given show a model from outside transformers."""
    imports = {name.partition(".")[0] for part in job.parts for name in part.extra.get("imports", ())}
    return bool(imports) and not imports & {"transformers", "trl", "peft", "sentence_transformers"}


def _is_xla(fsdp: Fsdp) -> bool:
    item = fsdp.get("xla")
    return item is not None and truth(item.value) is True


def wrapping(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """No policy, a policy that wraps nothing, or a key that the chosen policy does not read."""
    fsdp = fsdp_of(part, job)
    if fsdp is None or _is_xla(fsdp):
        return
    item, policy = fsdp.get("auto_wrap_policy"), _policy(fsdp)
    by_flag = any("fsdp_auto_wrap_policy" in command.root for command in job.of("command"))
    by_flag |= fsdp.place == "python" and item is None  # `accelerate launch` gives the plugin what is not written
    least = fsdp.get("min_num_params")
    classes = fsdp.get("transformer_layer_cls_to_wrap")
    key = fsdp.typed("auto_wrap_policy")
    if item is not None and item.value is UNKNOWN:
        return
    if policy == "NO_WRAP" and not by_flag:
        yield hit("config.fsdp-no-wrap-policy", part, item or fsdp.item, key=key)
    elif policy not in _POLICIES:
        yield hit("config.fsdp-bad-wrap-policy", part, item, key=key, value=short(policy))
    elif policy == "SIZE_BASED_WRAP":
        size = None if least is None else number(least.value)
        default_wraps = fsdp.place != "fsdp-config"
        if size == 0 or (least is None and not default_wraps):
            yield hit("config.fsdp-size-wrap-zero", part, least or item, key=fsdp.typed("min_num_params"))
    elif classes is None and _is_own_model(job):
        yield hit(
            "config.fsdp-layer-class-default", part, item or fsdp.item, key=fsdp.typed("transformer_layer_cls_to_wrap")
        )
    if policy in {"SIZE_BASED_WRAP", "NO_WRAP"} and classes is not None and classes.value:
        yield hit(
            "config.fsdp-layer-class-ignored", part, classes, item, key=fsdp.typed("transformer_layer_cls_to_wrap"),
            policy_key=key, policy=policy,
        )  # fmt: skip


def strategy(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The sharding strategy is written where this version of FSDP does not read it, or as the wrong type."""
    fsdp = fsdp_of(part, job)
    if fsdp is None or _is_xla(fsdp):
        return
    after, old = fsdp.get("reshard_after_forward"), fsdp.get("sharding_strategy")
    key = fsdp.typed("reshard_after_forward")
    if after is None or after.value is UNKNOWN:
        return
    if fsdp.version == 2 and truth(after.value) is None:
        wanted = (
            "false" if "SHARD_GRAD_OP" in str(after.value).upper() or "ZERO2" in str(after.value).upper() else "true"
        )
        yield hit("config.fsdp2-reshard-not-bool", part, after, key=key, value=after.shown, wanted=wanted)
    if fsdp.version == 1 and old is None and _is_lost(after):
        is_name = str(after.value).upper() in _STRATEGIES
        wanted = str(after.value).upper() if is_name else "SHARD_GRAD_OP"
        if fsdp.place == "python":
            yield hit("config.fsdp1-strategy-lost-plugin", part, after, key=key, value=after.shown, wanted=wanted)
            return
        lost = "config.fsdp1-strategy-lost" + ("" if fsdp.place == "accelerate-config" else "-trainer")
        yield hit(lost, part, after, key=key, value=after.shown, wanted=wanted)


def _is_lost(after: ConfigValue) -> bool:
    name = str(after.value).upper()
    return truth(after.value) is False or (name in _STRATEGIES and name != "FULL_SHARD")


def loading(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Only rank 0 loads the weights, and nothing sends them to the others."""
    fsdp = fsdp_of(part, job)
    if fsdp is None:
        return
    sync, lean = fsdp.get("sync_module_states"), fsdp.get("cpu_ram_efficient_loading")
    if fsdp.place == "python":
        return  # the plugin turns the sending on by itself, with a warning
    default = fsdp.place == "accelerate-config"
    is_lean = default if lean is None else truth(lean.value)
    if sync is not None and truth(sync.value) is False and is_lean and (default or fsdp.version == 1):
        yield hit(
            "config.fsdp-loading-without-sync", part, sync, lean, key=fsdp.typed("cpu_ram_efficient_loading"),
            sync=fsdp.typed("sync_module_states"),
        )  # fmt: skip


def state_dict(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The kind of checkpoint does not exist under FSDP2, or gathers the whole model on rank 0."""
    fsdp = fsdp_of(part, job)
    item = None if fsdp is None else fsdp.get("state_dict_type")
    if fsdp is None or item is None or not isinstance(item.value, str):
        return
    key = fsdp.typed("state_dict_type")
    if item.value.upper() == "LOCAL_STATE_DICT" and fsdp.version == 2:
        yield hit("config.fsdp2-local-state-dict", part, item, key=key)
    elif item.value.upper() == "FULL_STATE_DICT":
        yield hit("config.fsdp-full-state-dict", part, item, key=key)


def checkpointing(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Offloading of checkpointed activations needs checkpointing, and FSDP2."""
    fsdp = fsdp_of(part, job)
    item = None if fsdp is None else fsdp.get("activation_checkpointing_offload")
    if fsdp is None or item is None or truth(item.value) is not True:
        return
    on = fsdp.get("activation_checkpointing")
    if on is None or truth(on.value) is not True or fsdp.version == 1:
        yield hit(
            "config.fsdp-checkpointing-offload", part, item, on, key=fsdp.typed("activation_checkpointing_offload"),
            needed=fsdp.typed("activation_checkpointing"), version=fsdp.typed("version"),
        )  # fmt: skip


def plugin(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Arguments that FullyShardedDataParallelPlugin refuses."""
    fsdp = fsdp_of(part, job)
    if fsdp is None:
        return
    ahead = fsdp.get("forward_prefetch")
    if fsdp.version == 2 and ahead is not None and ahead.value is not None:
        yield hit("config.fsdp2-forward-prefetch", part, ahead)
    policy = fsdp.get("mixed_precision_policy")
    if policy is None or not isinstance(policy.value, Mapping) or "**" in policy.value:
        return
    wanted = ("param_dtype", "reduce_dtype", "buffer_dtype" if fsdp.version == 1 else "output_dtype")
    missing = [name for name in wanted if name not in policy.value]
    if missing:
        yield hit("config.fsdp-policy-half-set", part, policy, missing=", ".join(missing), version=fsdp.version)


def calls(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Calls of FSDP1's own classes in a script."""
    same = [other for other in job.of("call") if other.source is part.source]
    names = {other.name for other in same}
    wraps = {"FullyShardedDataParallel", "FSDP"}
    hidden = "**" in part.root
    if part.name in wraps and "auto_wrap_policy" not in part.root and not hidden and "#3" not in part.root:
        alone = sum(other.name in wraps for other in same) == 1
        if alone and not names & {"wrap", "enable_wrap"}:
            yield hit("config.torch-fsdp-no-wrap-policy", part)
    if part.name == "MixedPrecision" and not hidden:
        dtype = part.get("param_dtype") or part.get("#0")
        reduce = part.get("reduce_dtype") or part.get("#1")
        if dtype is not None and reduce is None and _is_low(dtype):
            yield hit("config.fsdp-reduce-dtype-unset", part, dtype, dtype=short(dtype.shown))
        is_fp16 = dtype is not None and dtype.shown.rpartition(".")[2] in {"float16", "half"}
        if is_fp16 and "ShardedGradScaler" not in names and names & wraps:
            yield hit("config.fsdp-fp16-without-scaler", part, dtype)
    if part.name == "GradScaler" and names & wraps and "ShardedGradScaler" not in names:
        yield hit("config.fsdp-plain-grad-scaler", part)


def _is_low(item: ConfigValue) -> bool:
    return "16" in item.shown or item.shown.endswith("half")


RULES = (
    ConfigRule(
        ids=(
            "config.fsdp-no-wrap-policy",
            "config.fsdp-bad-wrap-policy",
            "config.fsdp-size-wrap-zero",
            "config.fsdp-layer-class-default",
            "config.fsdp-layer-class-ignored",
        ),
        kinds=("accelerate", "fsdp-config", "call"),
        check=wrapping,
    ),
    ConfigRule(
        ids=(
            "config.fsdp2-reshard-not-bool",
            "config.fsdp1-strategy-lost",
            "config.fsdp1-strategy-lost-trainer",
            "config.fsdp1-strategy-lost-plugin",
        ),
        kinds=("accelerate", "fsdp-config", "call"),
        check=strategy,
    ),
    ConfigRule(ids=("config.fsdp-loading-without-sync",), kinds=("accelerate", "fsdp-config", "call"), check=loading),
    ConfigRule(
        ids=("config.fsdp2-local-state-dict", "config.fsdp-full-state-dict"),
        kinds=("accelerate", "fsdp-config", "call"),
        check=state_dict,
    ),
    ConfigRule(
        ids=("config.fsdp-checkpointing-offload",), kinds=("accelerate", "fsdp-config", "call"), check=checkpointing
    ),
    ConfigRule(ids=("config.fsdp2-forward-prefetch", "config.fsdp-policy-half-set"), kinds=("call",), check=plugin),
    ConfigRule(
        ids=(
            "config.torch-fsdp-no-wrap-policy",
            "config.fsdp-reduce-dtype-unset",
            "config.fsdp-fp16-without-scaler",
            "config.fsdp-plain-grad-scaler",
        ),
        kinds=("call",),
        check=calls,
    ),
)
