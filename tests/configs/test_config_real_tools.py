"""What the findings say that accelerate does is what the installed accelerate does."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("accelerate") is None:  # importing it takes seconds, which no other test shall wait for
    pytest.skip("accelerate is not installed", allow_module_level=True)

HEAD = "compute_environment: LOCAL_MACHINE\n"
FSDP = HEAD + "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plugins write to the environment; every test gets its own, free of Accelerate's variables."""
    before = dict(os.environ)
    for name in list(os.environ):
        if name.startswith(("FSDP_", "ACCELERATE_")):
            monkeypatch.delenv(name)
    yield
    os.environ.clear()
    os.environ.update(before)


def launch(folder: Path, text: str) -> tuple[argparse.Namespace, dict[str, str]]:
    """Arguments and environment that `accelerate launch` makes of a file."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils.launch import prepare_multi_gpu_env, prepare_simple_launcher_cmd_env

    path = folder / "a.yaml"
    path.write_text(text, encoding="utf-8")
    arguments = launch_command_parser().parse_args(["--config_file", str(path), "--main_process_port", "0", "t.py"])
    arguments, _, _ = _validate_launch_command(arguments)
    if arguments.use_fsdp or arguments.multi_gpu:
        return arguments, prepare_multi_gpu_env(arguments)
    return arguments, prepare_simple_launcher_cmd_env(arguments)[1]


def plugin(environment: dict[str, str]) -> object:
    """The FSDP plugin that a process makes of that environment."""
    from accelerate import FullyShardedDataParallelPlugin

    os.environ.update({name: value for name, value in environment.items() if name.startswith("FSDP_")})
    os.environ |= {"FSDP_SYNC_MODULE_STATES": "false", "FSDP_CPU_RAM_EFFICIENT_LOADING": "false"}
    return FullyShardedDataParallelPlugin()


REFUSED = {
    "unknown key": (HEAD + "distributed_type: MULTI_GPU\nnum_procs: 2\n", ValueError, "unknown keys"),
    "no type": (HEAD + "num_processes: 2\n", ValueError, "distributed_type"),
    "no number": (HEAD + "distributed_type: MULTI_GPU\n", ValueError, "num_processes"),
    "boolean precision": (
        HEAD + "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: no\n",
        AttributeError,
        "lower",
    ),
    "gpu_ids as number": (
        HEAD + "distributed_type: MULTI_GPU\nnum_processes: 2\ngpu_ids: 0\n",
        AttributeError,
        "split",
    ),
    "loading without sync": (
        FSDP + "  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: false\n",
        ValueError,
        "sync_module_states",
    ),
}


@pytest.mark.parametrize(("text", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_accelerate_refuses_what_is_reported_as_an_error(
    tmp_path: Path, text: str, error: type[Exception], words: str
) -> None:
    """The launcher fails, in the words that the finding promises."""
    with pytest.raises(error, match=words):
        launch(tmp_path, text)


def test_type_no_starts_one_process(tmp_path: Path) -> None:
    """`distributed_type: NO` takes the launcher of a single process, whatever the number."""
    arguments, environment = launch(tmp_path, HEAD + "distributed_type: 'NO'\nnum_processes: 4\n")
    assert not arguments.multi_gpu
    assert "WORLD_SIZE" not in environment


def test_use_cpu_is_lost_on_the_way_to_gpu_processes(tmp_path: Path) -> None:
    """With MULTI_GPU no variable tells the processes to stay on the CPU."""
    _, environment = launch(tmp_path, HEAD + "distributed_type: MULTI_GPU\nnum_processes: 2\nuse_cpu: true\n")
    assert "ACCELERATE_USE_CPU" not in environment


def test_the_strategy_of_fsdp1_is_lost_under_the_name_of_fsdp2(tmp_path: Path) -> None:
    """`fsdp_reshard_after_forward: SHARD_GRAD_OP` ends as FULL_SHARD, `fsdp_sharding_strategy` arrives."""
    _, environment = launch(tmp_path, FSDP + "  fsdp_version: 1\n  fsdp_reshard_after_forward: SHARD_GRAD_OP\n")
    assert "FULL_SHARD" in str(getattr(plugin(environment), "sharding_strategy", None))
    _, environment = launch(tmp_path, FSDP + "  fsdp_version: 1\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n")
    assert "SHARD_GRAD_OP" in str(getattr(plugin(environment), "sharding_strategy", None))


def test_the_strategy_that_the_trainer_passes_is_lost_too() -> None:
    """The plugin called as the Trainer calls it for FSDP1 ends with FULL_SHARD."""
    from accelerate import FullyShardedDataParallelPlugin

    made = FullyShardedDataParallelPlugin(
        fsdp_version=1, reshard_after_forward="shard_grad_op", sync_module_states=False
    )
    assert "FULL_SHARD" in str(made.sharding_strategy or made.reshard_after_forward)


def test_the_plugin_refuses_what_is_reported_as_an_error() -> None:
    """FSDP2 takes no forward_prefetch, and a policy given as a dict must be complete."""
    import torch
    from accelerate import FullyShardedDataParallelPlugin

    with pytest.raises(ValueError, match="forward_prefetch"):
        FullyShardedDataParallelPlugin(fsdp_version=2, forward_prefetch=False)
    half = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.bfloat16}
    for version, rest in ((1, "buffer_dtype"), (2, "output_dtype")):
        with pytest.raises(ValueError, match="mixed precision policy"):
            FullyShardedDataParallelPlugin(fsdp_version=version, mixed_precision_policy=half)
        FullyShardedDataParallelPlugin(fsdp_version=version, mixed_precision_policy=half | {rest: torch.float32})


def test_keys_of_fsdp1_do_nothing_under_fsdp2(tmp_path: Path) -> None:
    """What is reported as ignored leaves the plugin as it is without it."""
    text = (
        FSDP + "  fsdp_version: 2\n  fsdp_forward_prefetch: true\n  fsdp_use_orig_params: false\n"
        "  fsdp_backward_prefetch: BACKWARD_PRE\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n"
    )
    made = plugin(launch(tmp_path, text)[1])
    assert [getattr(made, n) for n in ("forward_prefetch", "use_orig_params", "backward_prefetch")] == [None] * 3
    assert getattr(made, "reshard_after_forward", None) is True


FSDP2_REFUSES = {
    "a strategy's name": ("  fsdp_reshard_after_forward: SHARD_GRAD_OP\n", "invalid truth value"),
    "local state dict": ("  fsdp_state_dict_type: LOCAL_STATE_DICT\n", "LOCAL_STATE_DICT"),
    "offload without checkpointing": ("  fsdp_activation_checkpointing_offload: true\n", "activation_checkpointing"),
}


@pytest.mark.parametrize(("line", "words"), FSDP2_REFUSES.values(), ids=FSDP2_REFUSES)
def test_fsdp2_refuses_what_is_reported_as_an_error(tmp_path: Path, line: str, words: str) -> None:
    """The plugin raises in every process."""
    _, environment = launch(tmp_path, FSDP + "  fsdp_version: 2\n" + line)
    with pytest.raises(ValueError, match=words):
        plugin(environment)


def test_no_policy_wraps_nothing(tmp_path: Path) -> None:
    """Without a policy, and with a size of 0, no part of the model becomes a unit of its own."""
    import torch

    for lines in ("", "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: 0\n"):
        made = plugin(launch(tmp_path, FSDP + "  fsdp_version: 2\n" + lines)[1])
        made.set_auto_wrap_policy(torch.nn.Linear(2, 2))  # type: ignore[attr-defined]
        assert getattr(made, "auto_wrap_policy", "missing") is None


def test_keys_beside_a_deepspeed_file_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check that runs beside `deepspeed_config_file` refuses exactly the keys that are reported."""
    from accelerate.utils import DeepSpeedPlugin

    from distkb.evidence.readers.configs.known import FILE_EXCLUDES

    for key in (*FILE_EXCLUDES, "mixed_precision"):
        monkeypatch.setenv("ACCELERATE_CONFIG_DS_FIELDS", f"deepspeed_config_file,{key}")
        with pytest.raises(ValueError, match="deepspeed_config_file"):
            DeepSpeedPlugin._deepspeed_config_checks(DeepSpeedPlugin.__new__(DeepSpeedPlugin))
    monkeypatch.setenv("ACCELERATE_CONFIG_DS_FIELDS", "deepspeed_config_file,zero3_init_flag")
    DeepSpeedPlugin._deepspeed_config_checks(DeepSpeedPlugin.__new__(DeepSpeedPlugin))


def test_the_known_keys_are_those_of_accelerate() -> None:
    """No field of the installed version is missing from the list of known keys."""
    from accelerate.commands.config.config_args import ClusterConfig, SageMakerConfig
    from accelerate.utils import DistributedType

    from distkb.evidence.readers.configs import known

    assert set(ClusterConfig.__dataclass_fields__) <= known.ACCELERATE
    assert set(SageMakerConfig.__dataclass_fields__) <= known.SAGEMAKER
    assert {member.value for member in DistributedType} <= set(known.DISTRIBUTED_TYPES)


def test_the_known_flags_without_a_value_are_those_of_the_launchers() -> None:
    """A flag that takes no value must not swallow the script's name."""
    from accelerate.commands.launch import launch_command_parser
    from torch.distributed.run import get_args_parser

    from distkb.evidence.readers.configs.flags import BOOLEAN, normal

    for name, parser in (("accelerate", launch_command_parser()), ("torchrun", get_args_parser())):
        bare = {normal(name, flag) for action in parser._actions if action.nargs == 0 for flag in action.option_strings}
        assert bare <= BOOLEAN[name], bare - BOOLEAN[name]
        valued = {
            normal(name, flag) for action in parser._actions if action.nargs != 0 for flag in action.option_strings
        }
        assert not valued & BOOLEAN[name]
