"""Python tracebacks in log text."""

from __future__ import annotations

import sys
import traceback as python_traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.evidence.text.traceback import Chain, is_library, parse

CHAINED = """Traceback (most recent call last):
  File "/home/u/data.py", line 7, in read
    return index[key]
           ~~~~~^^^^^
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/u/train.py", line 3, in <module>
    main()
  File "/home/u/data.py", line 9, in read
    raise RuntimeError("bad index") from None
RuntimeError: bad index
with a second line
step 4 done
"""


def _parse(text: str, start: int = 0) -> Chain:
    chain = parse(text.split("\n"), start)
    assert chain is not None
    return chain


def test_chain_first_cause_first() -> None:
    """The exceptions of a chain are read in order, with their frames, source lines and messages."""
    chain = _parse(CHAINED)
    assert [(one.type, one.message.split("\n")[0]) for one in chain.raised] == [
        ("KeyError", "'a'"),
        ("RuntimeError", "bad index"),
    ]
    assert chain.first.at == 4
    frame = chain.first.frames[0]
    assert (frame.path, frame.line, frame.function, frame.source, frame.at) == (
        "/home/u/data.py", 7, "read", "return index[key]", 1,
    )  # fmt: skip


def test_an_interruption_is_no_failure_of_what_had_been_caught() -> None:
    """A rank that was stopped while it dealt with an exception did not fail of it; blank lines carry no prefix."""
    text = """[rank0]: Traceback (most recent call last):
[rank0]:   File "/w/tracking.py", line 36, in post
[rank0]:     send()
[rank0]: ConnectionRefusedError: [Errno 111] Connection refused

[rank0]: During handling of the above exception, another exception occurred:

[rank0]: Traceback (most recent call last):
[rank0]:   File "/w/tracking.py", line 40, in post
[rank0]:     time.sleep(30)
[rank0]: KeyboardInterrupt
"""
    chain = parse(text.splitlines())
    assert chain is not None
    assert [raised.type for raised in chain.raised] == ["ConnectionRefusedError", "KeyboardInterrupt"]
    assert chain.first.type == "KeyboardInterrupt"


def test_interleaved_ranks() -> None:
    """Each rank's traceback is read out of lines that alternate."""
    lines: list[str] = []
    for left, right in zip(CHAINED.split("\n")[:5], CHAINED.replace("7", "8").split("\n")[:5], strict=True):
        lines += [f"[rank0]: {left}", "unrelated", f"[default1]:[rank1]: {right}"]
    first, second = parse(lines, 0), parse(lines, 2)
    assert first is not None
    assert second is not None
    assert (first.first.frames[0].line, second.first.frames[0].line) == (7, 8)
    assert first.first.type == second.first.type == "KeyError"
    assert not first.consumed & second.consumed


def test_timed_prefix() -> None:
    """A prefix with a time in it differs from line to line and is still one prefix."""
    lines = [f"2026-11-21T10:00:0{n}.5Z stderr F {line}" for n, line in enumerate(CHAINED.split("\n")[:5])]
    assert _parse("\n".join(lines)).first.type == "KeyError"


def test_after_a_progress_bar() -> None:
    """A traceback that starts at the end of an unfinished line is read."""
    assert _parse("  3%|#  | 3/100 [00:01<00:32]" + CHAINED).first.type == "KeyError"


def test_progress_bar_between_two_tags() -> None:
    """Launcher's label, unfinished bar and rank tag before a traceback: the frames carry the tags alone."""
    first, *rest = CHAINED.split("\n")[:5]
    lines = [f"1: Training:  85%|###  | 17/20 [00:03<00:01][rank1]: {first}", "0: step 17", *rest]
    lines[2:] = [f"1: [rank1]: {line}" for line in rest]
    chain = _parse("\n".join(lines))
    assert (chain.first.type, len(chain.first.frames)) == ("KeyError", 1)


def test_group() -> None:
    """The marks of an exception group do not hide its parts."""
    text = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "/home/u/t.py", line 2, in <module>\n  |     run()\n'
        "  | ExceptionGroup: two (2 sub-exceptions)\n"
    )
    assert _parse(text).first.type == "ExceptionGroup"


def test_launcher_is_not_the_user() -> None:
    """The torchrun launcher's own traceback is marked."""
    text = (
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/bin/torchrun", line 8, in <module>\n    sys.exit(main())\n'
        '  File "/opt/lib/python3.11/site-packages/torch/distributed/run.py", line 1, in main\n    run(args)\n'
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\n"
    )
    assert _parse(text).launcher
    assert not _parse(CHAINED).launcher


def test_spawned_process() -> None:
    """The index that multiprocessing.spawn prints above a traceback is kept."""
    chain = parse(CHAINED.split("\n"), 0, ["-- Process 3 terminated with the following error:"])
    assert chain is not None
    assert chain.spawned == 3


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("/home/u/train.py", False),
        ("train.py", False),
        ("/workspace/project/src/model.py", False),
        ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", True),
        ("/usr/lib/python3/dist-packages/numpy/x.py", True),
        ("/usr/lib/python3.11/json/decoder.py", True),
        ("/workspace/pytorch/torch/distributed/distributed_c10d.py", True),
        ("<frozen runpy>", True),
        ("C:\\Python311\\lib\\site-packages\\torch\\x.py", True),
        ("/home/u/transformers/src/transformers/trainer.py", True),
        ("/home/u/torch_project/train.py", False),
    ],
)
def test_user_and_library_files(path: str, library: bool) -> None:
    """Installed libraries are told from the user's own files."""
    assert is_library(path) is library


def _fail(depth: int, message: str) -> None:
    if depth:
        _fail(depth - 1, message)
    raise ValueError(message)


@given(st.integers(0, 6), st.text("abc xyz:.,()", max_size=30))
def test_reads_what_python_prints(depth: int, message: str) -> None:
    """What this Python prints for a real exception is read back: type, message, and each frame's line."""
    try:
        _fail(depth, message)
    except ValueError:
        text = python_traceback.format_exc()
        frames = python_traceback.extract_tb(sys.exc_info()[2])
    if depth > 3:
        return  # Python folds the repetition
    raised = _parse(text).first
    assert raised.type == "ValueError"
    assert raised.message == message.strip()
    assert [frame.line for frame in raised.frames] == [frame.lineno for frame in frames]


@given(st.lists(st.sampled_from([*CHAINED.split("\n"), "  ", "[rank1]: x", "| +"]), min_size=1, max_size=40))
def test_any_lines_are_read(lines: list[str]) -> None:
    """Torn tracebacks never make the reader fail."""
    for index, line in enumerate(lines):
        if "Traceback" in line:
            parse(lines, index)
