"""Error messages of torch, gloo and NCCL that have one meaning, each with the finding that says it."""

from __future__ import annotations

import re
from collections.abc import Iterable

KNOWN: tuple[tuple[str, str], ...] = (
    ("allreduce.address-in-use", r"(?i)EADDRINUSE|address already in use"),
    ("allreduce.duplicate-gpu", r"(?i)duplicate gpu detected|multiple ranks (?:are|detected) using the same gpu"),
    (
        "allreduce.no-gpu",
        r"(?i)no GPUs found|have NCCL built in|no CUDA GPUs are available|not compiled with CUDA|no NVIDIA driver",
    ),
    ("allreduce.device-ordinal", r"(?i)invalid device ordinal"),
    ("allreduce.driver-too-old", r"(?i)driver (?:version )?(?:on your system )?is (?:insufficient|too old)"),
    ("allreduce.gpu-full", r"(?i)cuda[^\n]*out of memory|cudaErrorMemoryAllocation"),
    ("allreduce.shm-full", r"(?i)/dev/shm[^\n]*(?:no space|error)|no space left on device[^\n]*nccl"),
    ("allreduce.no-interface", r"(?i)unable to find (?:address|interface) for|no socket interface found"),
    (
        "allreduce.unresolvable",
        r"(?i)unable to resolve hostname|name or service not known|name resolution|no address associated|getaddrinfo",
    ),
    (
        "allreduce.unreachable",
        (
            r"(?i)client socket has (?:timed out|failed to connect)|connection refused|failed to connect/validate"
            r"|no route to host|network is unreachable|connection to the c10d store has failed|timed out connecting"
        ),
    ),
)
"""In the order in which they are tried: what says more comes first."""

ECHOES = (
    r"(?i)connection closed by peer|connection reset by peer|broken pipe|remote process exited|aborted due to"
    r"|socket closed|pair closure"
)
"""What a rank prints when another one has gone: it is a witness."""


def known(lines: Iterable[str]) -> tuple[str, str] | None:
    """Return the finding that the lines show and the line that shows it; None where none is known."""
    held = list(lines)
    for identity, pattern in KNOWN:
        for line in held:
            if re.search(pattern, line):
                return identity, line.strip()
    return None


def port_of(lines: Iterable[str]) -> str:
    """Return the port that a message names, or `?`."""
    for line in lines:
        found = re.search(r"(?i)\bport:? ?(\d{2,5})\b|\([^()]*, (\d{2,5})\)|:(\d{4,5})\b", line)
        if found:
            return found[1] or found[2] or found[3]
    return "?"


def is_echo(error: str) -> bool:
    """Whether an error only says that another rank has gone."""
    return re.search(ECHOES, error) is not None


def first_error(lines: Iterable[str]) -> str:
    """Return the last line that looks like the end of a traceback, else the last line; empty for none."""
    held = [line.strip() for line in lines]
    for line in reversed(held):
        if re.match(r"(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt|Exit|Failure)\b(?::|$)", line):
            return line
    return held[-1] if held else ""
