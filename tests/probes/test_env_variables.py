from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb_probes.environment.gpus import parse_query
from distkb_probes.environment.nccl_files import nccl_settings
from distkb_probes.environment.variables import mask_command, masked, matters, parse_environ, select
from distkb_probes.secret_kinds import MASK

SECRET = st.text(string.ascii_letters + string.digits, min_size=24, max_size=40)


@given(
    SECRET,
    st.sampled_from(
        ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "NCCL_API_KEY", "AWS_SECRET_ACCESS_KEY", "SLURM_JWT", "DB_PASSWORD"]
    ),
)
def test_a_secret_never_leaves_by_its_name(secret: str, name: str) -> None:
    """The value of a variable that is called a secret is masked."""
    assert secret not in masked(name, secret)


@given(
    SECRET, st.sampled_from(["https://kim:{}@proxy:3128/", "token={}", "--password {} x", "hf_{}", "ghp_{}", "sk-{}"])
)
def test_a_secret_never_leaves_inside_a_value(secret: str, shape: str) -> None:
    """Logins in URLs, named values and tokens of known form are masked whatever the variable is called."""
    text = shape.format(secret)
    assert secret not in (mask_command(text.split()) if "--" in text else masked("NCCL_PLUGIN_ARGS", text))


def test_the_value_of_a_secret_option_is_masked() -> None:
    """A command line keeps its options and loses the secret ones' values."""
    words = ["python", "train.py", "--hub-token", "abcdef", "--lr=1e-4", "--wandb_api_key=0123"]
    assert mask_command(words) == f"python train.py --hub-token {MASK} --lr=1e-4 --wandb_api_key={MASK}"


@pytest.mark.parametrize(
    "name",
    [
        "RANK",
        "MASTER_ADDR",
        "NCCL_IB_PKEY",
        "TORCH_NCCL_BLOCKING_WAIT",
        "nccl_debug",
        "NCLL_DEBUG",
        "MATSER_ADDR",
        "SLURM_NTASKS",
        "PET_NNODES",
        "DS_ACCELERATOR",
        "OMPI_COMM_WORLD_RANK",
        "MY_NCCL_TIMEOUT_MS",
        "PYTHONPATH",
    ],
)
def test_names_that_matter_are_kept(name: str) -> None:
    """Variables of launchers and libraries are collected, slips of the finger included."""
    assert matters(name)
    assert masked(name, "1") == "1"


@pytest.mark.parametrize(
    "name", ["HOME", "PATH", "AWS_ACCESS_KEY_ID", "GITHUB_TOKEN", "LS_COLORS", "EDITOR", "SSH_AUTH_SOCK"]
)
def test_other_names_stay_here(name: str) -> None:
    """What has nothing to do with a distributed run is not collected."""
    assert not matters(name)
    assert select({name: "x"}) == {}


@given(st.dictionaries(st.text(string.ascii_uppercase, min_size=1), st.text(string.printable.replace("\x00", ""))))
def test_an_environment_is_read_as_the_kernel_wrote_it(environment: dict[str, str]) -> None:
    """What goes into a process's environment comes out of its /proc file."""
    data = b"".join(f"{name}={value}\0".encode() for name, value in environment.items())
    assert parse_environ(data) == environment
    assert parse_environ(data + b"\0junk\0=odd\0") == environment


def test_nccl_takes_variables_from_files(tmp_path: Path) -> None:
    """The user's file comes before the machine's, the environment before both; comments and half lines do not count."""
    (tmp_path / ".nccl.conf").write_text("# mine\nNCCL_DEBUG=INFO\nNCCL_ALGO\nNCCL_SOCKET_IFNAME=eth0\n")
    machine = tmp_path / "nccl.conf"
    machine.write_text("NCCL_SOCKET_IFNAME=ib0\nNCCL_IB_HCA=mlx5_0\n")
    seen = nccl_settings({"HOME": str(tmp_path), "NCCL_DEBUG": "WARN"}, machine)
    assert [(row["name"], row["value"], row["line"]) for row in seen] == [
        ("NCCL_SOCKET_IFNAME", "eth0", 4),
        ("NCCL_IB_HCA", "mlx5_0", 2),
    ]
    named = nccl_settings({"HOME": str(tmp_path), "NCCL_CONF_FILE": str(machine)}, tmp_path / "none")
    assert [row["value"] for row in named] == ["ib0", "mlx5_0"]


def test_rows_of_nvidia_smi_are_read() -> None:
    """A row for each GPU; error texts between them are left out."""
    text = "0, NVIDIA H200, GPU-1a, 143771, 570.86.10, Disabled\nNo devices\n1, A30, GPU-2b, [N/A], 570, Enabled\n"
    rows = parse_query(text)
    assert [(row["index"], row["name"], row["memory_mib"], row["mig"]) for row in rows] == [
        (0, "NVIDIA H200", 143771, False),
        (1, "A30", None, True),
    ]
