"""The glossary of the knowledge base."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import built_in
import pytest

from distkb.catalogue.load import load_sources
from distkb.search.forms import Forms, form_key
from distkb.search.tokens import pieces

KB = Path(__file__).parents[2] / "kb"


@pytest.fixture(scope="module")
def forms() -> Forms:
    """The forms of the real glossary."""
    catalogue = built_in.catalogue()
    return Forms.of_terms(catalogue.terms)


def test_every_term_is_complete() -> None:
    """Each term must have forms and a definition in both languages, and a head word among its forms."""
    catalogue, problems = load_sources([KB])
    assert not [problem for problem in problems if "glossary" in str(problem)]
    assert len(catalogue.terms) >= 120
    for term in catalogue.terms:
        assert term.forms.en, term.id
        assert term.definition.en.endswith("."), term.id
        assert term.definition.ko.endswith("."), term.id


def test_no_form_is_empty_or_listed_twice() -> None:
    """A form must have atoms, and no term may list two forms that search reads as one."""
    catalogue = built_in.catalogue()
    for term in catalogue.terms:
        keys = Counter(form_key(form) for form in (*term.forms.en, *term.forms.ko))
        assert keys[""] == 0, term.id
        assert not [key for key, count in keys.items() if count > 1], term.id


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("hang", "멈췄어요"),
        ("froze", "먹통이 됐어요"),
        ("stuck", "행이 걸렸어요"),
        ("barrier", "배리어에서"),
        ("rank", "랭크가"),
        ("collective", "집합통신"),
        ("ckpt", "체크 포인트를"),
        ("timed out", "시간 초과"),
        ("gradients", "기울기"),
        ("epoch", "에포크"),
        ("sharding", "쪼개서"),
        ("gpu", "그래픽카드"),
        ("machines", "서버"),
        ("learning rate", "러닝레이트"),
        ("OOM", "메모리가 부족"),
        ("save", "세이브"),
        ("validation", "밸리데이션"),
        ("mixed precision", "혼합 정밀도"),
        ("optimizer", "옵티마이저"),
        ("process group", "프로세스 그룹"),
        ("sidecar", "사이드카"),
        ("firewall", "방화벽"),
        ("accelerate", "액셀러레이트"),
        ("Hugging Face", "허깅페이스"),
        ("DeepSpeed", "딥스피드"),
        ("ZeRO", "제로"),
        ("checkpoint", "첵포가"),
        ("jupyter", "쥬피터에서"),
        ("notebook", "코랩"),
        ("windows", "윈도우"),
        ("tqdm", "진행바가"),
        ("gradient accumulation", "그래드 누적"),
        ("not divisible", "나눠떨어지지 않아요"),
        ("different order", "순서가 달라요"),
        ("different order", "통신 순서가 다름"),
        ("different lengths", "길이가 다릅니다"),
        ("weights differ", "가중치가 달라서"),
        ("num gpus", "GPU 갯수"),
        ("every gpu", "카드별로"),
        ("already in use", "이미 쓰고 있대요"),
        ("does not fit", "한 장에 안 들어가요"),
        ("memory jumps", "메모리가 확 튀어요"),
        ("no progress", "감감무소식"),
        ("crash", "튕긴 뒤에"),
        ("slow", "속도가 기어가요"),
        ("which rank", "어느 카드가 문제"),
        ("loss does not decrease", "로스가 안 줄어요"),
        ("illegal memory access", "잘못된 메모리 접근"),
        ("ssh disconnects", "SSH 끊기면"),
        ("terminal closed", "터미널을 닫았더니"),
        ("upload", "허브에 올리다가"),
        ("MoE expert", "전문가에 토큰이"),
        ("vision tower", "비전 타워"),
        ("discriminator", "판별기"),
        ("nvidia-smi", "엔비디아 스미"),
        ("python exception", "파이썬 오류"),
    ],
)
def test_languages_share_the_concept(forms: Forms, english: str, korean: str) -> None:
    """What people type in one language must give a concept that the other language's word gives too."""
    assert set(forms.tokens(pieces(english))) & set(forms.tokens(pieces(korean)))


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("데이터에서", "step"),
        ("메모리를 다시", "oom"),
        ("프로그램을 다시", "oom"),
        ("프로그램을 다시", "host-memory"),
        ("도메인에서", "main-process"),
        ("배치는 같은데", "same-spot"),
        ("시드를 고정했습니다", "frozen"),
        ("까지로 바꿈", "zero"),
        ("클러스터", "loss"),
        ("모델이 크래시", "model-size"),
        ("서로 다른 포트", "mismatch"),
        ("training freezes", "frozen"),
        ("the GPU is full", "every-rank"),
        ("exit code 0", "from-scratch"),
        ("4번 GPU", "side-effect"),
    ],
)
def test_colloquial_forms_stay_out_of_other_words(forms: Forms, text: str, concept: str) -> None:
    """A short form, or what is left of one without its particle, must not be found in an ordinary phrase."""
    assert f"§{concept}" not in forms.tokens(pieces(text))


@pytest.mark.parametrize("text", ["실행 계획", "다운로드", "파이토치"])
def test_chance_matches_are_kept_out(forms: Forms, text: str) -> None:
    """Syllables inside other words must not be read as slang for a hang or as loading."""
    assert not {"§hang", "§load"} & set(forms.tokens(pieces(text)))
