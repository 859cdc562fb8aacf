"""The register of Korean sentences."""

from __future__ import annotations

import pytest

from distkb.catalogue.checks.texts import out_of_register


@pytest.mark.parametrize(
    "korean",
    [
        "랭크가 멈춥니다.",
        "무엇이 보입니까?",
        "다시 실행하세요.",
        "한 랭크가 멈춥니다. 나머지는 기다립니다.",
        "집합 통신 안의 배리어",
        "아니요",
        "설정이 필요",
        "`if rank == 0` 안에서 호출합니다.",
        "torch 2.10에서 바뀌었습니다.",
        "멈춥니다(예: `barrier`).",
        "로그에 '다시 시도한다.'라고 나옵니다.",
        '"왜 멈춰요?"라고 묻습니다.',
        "다음 명령을 실행합니다: `distkb show D21`.",
        "기다립니다...",
    ],
)
def test_formal_sentences_and_phrases_pass(korean: str) -> None:
    """합니다체, titles, code, quotations and asides are left alone."""
    assert out_of_register(korean) == []


@pytest.mark.parametrize(
    ("korean", "endings"),
    [
        ("랭크가 멈춰요.", ["멈춰요"]),
        ("랭크가 멈춰요", ["멈춰요"]),
        ("이것이 원인이에요.", ["원인이에요"]),
        ("랭크가 멈춘다.", ["멈춘다"]),
        ("멈춥니다. 그리고 죽는다.", ["죽는다"]),
        ("환경 변수를 설정함.", ["설정함"]),
        ("왜 멈출까요?", ["멈출까요"]),
        ("멈춘다. 기다려요. 끝납니다.", ["멈춘다", "기다려요"]),
    ],
)
def test_other_registers_are_found(korean: str, endings: list[str]) -> None:
    """해요체, plain style and noun endings with a full stop are each reported."""
    assert out_of_register(korean) == endings
