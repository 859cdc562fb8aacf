"""What of a report tells about the failure."""

from __future__ import annotations

from distkb.evidence.readers.report.failure_text import failure_text, unprinted, without_lines
from distkb.evidence.readers.report.report_reader import take_apart

REPORT = """Training freezes after the first validation and nothing is printed.

### Environment
- `Accelerate` version: 1.15.0
- Platform: Linux-6.1-x86_64
- mixed_precision: bf16
- num_processes: 8

```
RuntimeError: Timed out waiting 1800000ms for recv operation to complete
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
```
"""


def test_sentences_and_error_lines_are_kept() -> None:
    """The person's sentence and the error stay."""
    kept = failure_text(take_apart(REPORT))
    assert "freezes after the first validation" in kept
    assert "Timed out waiting" in kept


def test_settings_and_the_launchers_footer_are_left_out() -> None:
    """A pasted environment block and the footer that every failed launch prints say nothing about the cause."""
    kept = failure_text(take_apart(REPORT))
    assert "num_processes" not in kept
    assert "Platform" not in kept
    assert "ChildFailedError" not in kept


def test_a_report_of_nothing_but_settings_is_used_whole() -> None:
    """Where hardly anything is left, all of it counts."""
    assert "zero_optimization" in failure_text(take_apart('{"zero_optimization": {"stage": 3}}'))


def test_what_every_out_of_memory_message_says_is_nobodys_words() -> None:
    """The account in numbers and the advice against fragmentation go, in both forms; the rest stays."""
    older = (
        "It dies. RuntimeError: CUDA out of memory. Tried to allocate 1.67 GiB (GPU 0; 3.95 GiB total capacity; "
        "246.26 MiB already allocated; 770.62 MiB free; 1.91 GiB reserved in total by PyTorch) If reserved memory "
        "is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory "
        "Management and PYTORCH_CUDA_ALLOC_CONF Why?"
    )
    newer = (
        "It dies. torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity "
        "of 23.64 GiB of which 2.00 MiB is free. Process 264136 has 808.00 MiB memory in use. Of the allocated memory "
        "282.47 MiB is allocated by PyTorch, and 21.53 MiB is reserved by PyTorch but unallocated. If reserved but "
        "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables) Why?"
    )
    for text in (older, newer):
        left = unprinted(text)
        assert left.startswith("It dies. ")
        assert left.endswith(" Why?")
        assert "out of memory" in left
        for word in ("reserved", "allocated", "fragmentation", "ALLOC_CONF", "Management"):
            assert word not in left
    mine = "Is this fragmentation? 20 GiB are reserved and only 40 allocated."
    assert unprinted(mine) == mine


def test_lines_are_emptied_by_number() -> None:
    """The numbered lines go, the others keep their places; a text of nothing else stays as it is."""
    assert without_lines("a\nb\nc", {2}) == "a\n\nc"
    assert without_lines("a\nb", set()) == "a\nb"
    assert without_lines("a\n\nb", {1, 3}) == "a\n\nb"
