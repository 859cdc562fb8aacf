"""Files are recognised by what is in them, keep their lines, and never hurt the reader."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.readers.configs import find_configs, read_configs
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart
from distkb.evidence.readers.configs.load import load_parts


def parts(folder: Path, name: str, text: str) -> list[ConfigPart]:
    """What one file configures."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_parts(path)


def reading(folder: Path, name: str, data: bytes) -> ArtifactReading:
    """What is read from a file of these bytes."""
    path = folder / name
    path.write_bytes(data)
    return read_configs([path], (), {})


def test_yaml_means_what_safe_load_makes_of_it(tmp_path: Path) -> None:
    """Booleans, numbers and texts are those of YAML 1.1, with the line of each key."""
    text = "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nmixed_precision: no\nnum_processes: 0x10\n"
    (part,) = parts(tmp_path, "a.yaml", text)
    assert part.kind == "accelerate"
    assert part.value("distributed_type") == "NO"
    assert part.value("mixed_precision") is False
    assert part.value("num_processes") == 16
    item = part.get("num_processes")
    assert item is not None
    assert (item.line, item.shown) == (4, "0x10")


def test_json_with_tabs_comments_and_exponents_is_read(tmp_path: Path) -> None:
    """DeepSpeed reads Hjson: comments and trailing commas do not hide the rest, and 5e8 is a number."""
    text = (
        '{\n\t// sizes\n\t"train_micro_batch_size_per_gpu": 4, # four\n'
        '\t"zero_optimization": {"reduce_bucket_size": 5e8,},\n}\n'
    )
    (part,) = parts(tmp_path, "ds.json", text)
    assert part.kind == "deepspeed"
    bucket = part.get("zero_optimization", "reduce_bucket_size")
    assert bucket is not None
    assert (bucket.value, bucket.line) == (5e8, 4)


def test_a_script_is_read_and_not_run(tmp_path: Path) -> None:
    """Written values are taken, variables stay unknown, and nothing of the script is executed."""
    text = (
        "from transformers import TrainingArguments\nopen('ran', 'w')\n"
        "args = TrainingArguments(\n    output_dir='x',\n    bf16=use_bf16,\n    learning_rate=-1,\n"
        "    fsdp_config=dict(version=2),\n)\n"
    )
    (part,) = parts(tmp_path, "train.py", text)
    assert part.kind == "training-arguments"
    assert part.value("bf16") is UNKNOWN
    assert part.value("learning_rate") == -1
    version = part.get("fsdp_config", "version")
    assert version is not None
    assert (version.value, version.line) == (2, 7)
    assert not Path("ran").exists()


def test_a_command_over_several_lines_keeps_the_line_of_each_flag(tmp_path: Path) -> None:
    """Continuations, comments, assignments and wrappers are understood; variables are unknown values."""
    text = (
        "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=8 # all of them\nexport N=$SLURM_NNODES\n"
        "NCCL_DEBUG=INFO srun -n2 --label torchrun \\\n  --nnodes=$N \\\n"
        "  --nproc_per_node 8 train.py --lr 1e-4 && echo done\n"
    )
    sbatch, command = parts(tmp_path, "job.sh", text)
    assert (sbatch.value("nodes"), sbatch.value("gpus-per-node")) == (2, 8)
    assert command.name == "torchrun"
    assert command.value("nnodes") == 2
    flag = command.get("nproc_per_node")
    assert flag is not None
    assert (flag.value, flag.line) == (8, 7)
    assert [word.text for word in command.words] == ["train.py", "--lr", "1e-4"]
    assert [wrapper.name for wrapper in command.wrappers] == ["srun"]
    assert command.wrappers[0].value("ntasks") == 2
    assert set(command.extra["assigned"]) == {"N", "NCCL_DEBUG"}


def test_text_of_a_here_document_is_no_command(tmp_path: Path) -> None:
    """What a script writes to another file is not what it runs."""
    text = "cat <<'EOF' > other.sh\ntorchrun --nproc-per-node=4 a.py\nEOF\ntorchrun --nproc-per-node=2 b.py\n"
    (command,) = parts(tmp_path, "run.sh", text)
    assert command.value("nproc_per_node") == 2


BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "binary": ("a.yaml", bytes(range(256)) * 8, "binary"),
    "large": ("a.json", b'{"zero_optimization": "' + b"x" * (10 << 20) + b'"}', "too-large-config"),
    "empty": ("a.yaml", b" \n", "empty"),
    "deep YAML": ("a.yaml", b"a: " + b"[" * 5000, "too-large-config"),
    "deep JSON": ("a.json", b'{"zero_optimization": ' + b"[" * 5000 + b"]" * 5000 + b"}", "too-large-config"),
    "many values": ("a.yaml", b"distributed_type: [" + b"1, " * 60_000 + b"1]", "too-large-config"),
    "alias bomb": ("a.yaml", BOMB.encode(), "no-config"),
    "a list": ("a.json", b"[1, 2]", "not-json"),
    "broken JSON": ("a.json", b'{"zero_optimization" 3}', "not-json"),
    "broken YAML": ("a.yaml", b"a: [1\nb: 2", "not-yaml"),
    "broken Python": ("a.py", b"FSDP(\ndef f(:\n", "not-python"),
    "deep Python": ("a.py", b"FSDP(m)\nx = " + b"(" * 3000 + b")" * 3000, "not-python"),
    "another file": ("a.yaml", b"hello: world\n", "no-config"),
    "objects": ("a.yaml", b"!!python/object/apply:os.system ['touch ran']\n", "no-config"),
    "a long number": ("a.yaml", b"distributed_type: NO\nnum_processes: " + b"9" * 5000, ""),
    "control characters": ("a.yaml", b"distributed_type: \x1b[31mNO\n", "not-yaml"),
}


@pytest.mark.parametrize(("name", "data", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_become_one_clear_line(tmp_path: Path, name: str, data: bytes, code: str) -> None:
    """Whatever a file holds, the reader returns, quickly, with one reason that can be shown."""
    found = reading(tmp_path, name, data)
    if not code:
        assert not found.skipped
        return
    (skipped,) = found.skipped
    assert skipped.code in ({code, "no-config"} if code == "not-json" else {code})
    assert "\n" not in skipped.detail
    assert "\x1b" not in skipped.detail
    assert not found.observations
    assert not Path("ran").exists()


def test_a_path_that_is_no_file_is_skipped(tmp_path: Path) -> None:
    """Missing files, folders and pipes are reported and never waited for."""
    os.mkfifo(tmp_path / "pipe.yaml")
    found = read_configs([tmp_path / "missing.yaml", tmp_path, tmp_path / "pipe.yaml"], (), {})
    assert [skipped.code for skipped in found.skipped] == ["missing", "not-a-file", "not-a-file"]


def test_configurations_are_found_in_a_folder(tmp_path: Path) -> None:
    """Of everything in a folder only configurations are named, without complaint about the rest."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "acc.yaml").write_text(
        "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_version: 2}\n"
    )
    (tmp_path / "data.json").write_text('{"hello": 1}')
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "run.sh").write_text("torchrun --nproc-per-node=8 train.py\n")
    assert [path.name for path in find_configs([tmp_path])] == ["run.sh", "acc.yaml"]


def test_the_facts_say_what_the_files_configure(tmp_path: Path) -> None:
    """Parallelism, launcher, size and precision come out, and answer the intake questions."""
    (tmp_path / "acc.yaml").write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 16\nnum_machines: 2\n"
        "main_process_ip: h0\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n"
    )
    found = read_configs([tmp_path / "acc.yaml"], (), {})
    assert found.facts["world_size"] == 16
    assert found.facts["precision"] == "bf16"
    assert set(found.facts["implies"]) == {"parallelism=fsdp2", "launcher=accelerate", "nodes=multi"}


def test_files_that_disagree_imply_nothing(tmp_path: Path) -> None:
    """Where two files say different things, no fact is taken from them."""
    (tmp_path / "a.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 8\n")
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 3}}')
    found = read_configs([tmp_path / "a.yaml", tmp_path / "ds.json"], (), {})
    assert found.facts["differing"]["parallelism"] == ["ddp", "zero3"]
    assert not any(fact.startswith("parallelism=") for fact in found.facts["implies"])


def test_secrets_in_a_file_are_not_shown(tmp_path: Path) -> None:
    """A token on a quoted line is masked."""
    (tmp_path / "run.sh").write_text("HF_TOKEN=hf_abcdefghijklmnopqrstuvwx torchrun --standalone --nnodes=2 train.py\n")
    found = read_configs([tmp_path / "run.sh"], (), {})
    assert found.observations
    assert "hf_abcdef" not in str(found)


def test_an_apostrophe_in_a_text_or_comment_swallows_no_command(tmp_path: Path) -> None:
    """Quotes are understood as the shell does, so that the next line is a command of its own."""
    text = "echo \"it's on\"  # don't worry\nuv run --extra gpu torchrun --nproc-per-node=2 a.py\n"
    (command,) = parts(tmp_path, "run.sh", text)
    assert (command.name, command.value("nproc_per_node")) == ("torchrun", 2)


def test_endless_continuations_are_read_in_time(tmp_path: Path) -> None:
    """A megabyte of continued lines costs seconds at most."""
    found = reading(tmp_path, "a.sh", b"torchrun \\\n" * 90_000)
    assert len(found.skipped) <= 1


def test_a_command_kept_in_a_variable_is_found(tmp_path: Path) -> None:
    """`$LAUNCHER` stands for the command that it was given, under srun and inside `bash -c` as well."""
    text = (
        '#!/bin/bash\nexport LAUNCHER="torchrun \\\n  --nproc-per-node=4 \\\n  --node-rank=\\$SLURM_PROCID \\\n  "\n'
        'srun bash -c "$LAUNCHER train.py --lr 1"\n$LAUNCHER other.py\n$UNKNOWN third.py\n'
    )
    first, second = parts(tmp_path, "job.sh", text)
    for command, script in ((first, "train.py"), (second, "other.py")):
        flag = command.get("nproc_per_node")
        assert flag is not None
        assert (command.name, flag.value, flag.line) == ("torchrun", 4, 3)
        assert command.words[0].text == script
    assert [wrapper.name for wrapper in first.wrappers] == ["srun"]
