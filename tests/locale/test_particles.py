"""Korean particles after Hangul, Latin words, letters and digits."""

from __future__ import annotations

import pytest

from distkb.locale.particles import particle


@pytest.mark.parametrize(
    ("word", "subject", "object_", "topic", "toward"),
    [
        ("랭크", "가", "를", "는", "로"),
        ("배리어 멈춤", "이", "을", "은", "으로"),
        ("파일", "이", "을", "은", "로"),
        ("NCCL", "이", "을", "은", "로"),
        ("DDP", "가", "를", "는", "로"),
        ("FSDP", "가", "를", "는", "로"),
        ("RAM", "이", "을", "은", "으로"),
        ("torchrun", "이", "을", "은", "으로"),
        ("accelerate", "가", "를", "는", "로"),
        ("deepspeed", "가", "를", "는", "로"),
        ("step", "이", "을", "은", "으로"),
        ("loop", "가", "를", "는", "로"),
        ("file", "이", "을", "은", "로"),
        ("pipeline", "이", "을", "은", "으로"),
        ("timeout", "이", "을", "은", "으로"),
        ("checkpoint", "가", "를", "는", "로"),
        ("rank", "가", "를", "는", "로"),
        ("deadlock", "이", "을", "은", "으로"),
        ("D21", "이", "을", "은", "로"),
        ("D9", "가", "를", "는", "로"),
        ("D8", "이", "을", "은", "로"),
        ("D3", "이", "을", "은", "으로"),
        ("D10", "이", "을", "은", "으로"),
        ("`barrier()`", "가", "를", "는", "로"),
        ("logs/rank0.log", "가", "를", "는", "로"),
        ("--json", "이", "을", "은", "으로"),
        ("", "가", "를", "는", "로"),
        ("…", "가", "를", "는", "로"),
    ],
)
def test_particles_follow_the_sound_of_the_word(word: str, subject: str, object_: str, topic: str, toward: str) -> None:
    """The form of a particle agrees with how the word before it ends when it is read aloud."""
    forms = tuple(particle(word, pair) for pair in ("이/가", "을/를", "은/는", "으로/로"))
    assert forms == (subject, object_, topic, toward)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MASTER_ADDR", "를"),
        ("NCCL_SOCKET_IFNAME", "을"),
        ("DDP_TIMEOUT", "을"),
        ("NCCL", "을"),
        ("OOM", "을"),
        ("RANK", "를"),
    ],
)
def test_names_in_capitals_are_read_as_words_or_letter_by_letter(name: str, expected: str) -> None:
    """A variable's last part is a word where it can be spoken, and letters where it cannot."""
    assert particle(name, "을/를") == expected
