"""The knowledge base of this repository."""

from __future__ import annotations

import re

import built_in
import pytest
from catalogue_samples import KB

from distkb.catalogue.check import check_directories


def test_the_built_in_knowledge_base_has_no_errors() -> None:
    """`distkb kb check` finds nothing that has to be repaired."""
    errors = [problem.shown(KB) for problem in check_directories([KB]) if problem.severity == "error"]
    assert errors == []


@pytest.mark.parametrize(
    ("signature", "line"),
    [
        ("nccl.duplicate-gpu", "NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"),
        ("nccl.duplicate-gpu", "NCCL WARN Multiple ranks detected using the same GPU on this node. Set NCCL_MULTI_"),
        ("nccl.duplicate-gpu", "NCCL WARN Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_"),
        ("accelerate.rtx4000-p2p", "Using RTX 3090 or 4000 series doesn't support faster communication broadband via"),
        ("ofi.in-use", "NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)"),
        ("ofi.no-provider", "NCCL WARN NET/OFI Couldn't find any optimal provider"),
        ("torch.store.broken", "[rank1]: RuntimeError: Connection reset by peer"),
        ("torch.store.broken", "[rank1]: torch.distributed.DistNetworkError: Connection reset by peer"),
        ("torch.store.broken", "[rank1]: torch.distributed.DistNetworkError: Broken pipe"),
        ("torch.store.broken", "[rank1]: torch.distributed.DistNetworkError: failed to recv, got 0 bytes"),
    ],
)
def test_older_and_newer_wordings_of_a_message_are_known(signature: str, line: str) -> None:
    """What one version prints and the next prints otherwise is the same signature."""
    pattern = next(one.pattern for one in built_in.catalogue().signatures if one.id == signature)
    assert re.search(pattern, line)
