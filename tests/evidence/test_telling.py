"""What of a report tells about the failure."""

from __future__ import annotations

from distkb.evidence.report import take_apart
from distkb.evidence.telling import telling

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
    kept = telling(take_apart(REPORT))
    assert "freezes after the first validation" in kept
    assert "Timed out waiting" in kept


def test_settings_and_the_launchers_footer_are_left_out() -> None:
    """A pasted environment block and the footer that every failed launch prints say nothing about the cause."""
    kept = telling(take_apart(REPORT))
    assert "num_processes" not in kept
    assert "Platform" not in kept
    assert "ChildFailedError" not in kept


def test_a_report_of_nothing_but_settings_is_used_whole() -> None:
    """Where hardly anything is left, all of it counts."""
    assert "zero_optimization" in telling(take_apart('{"zero_optimization": {"stage": 3}}'))
