"""Secrets: one table of kinds, measured on strings that were not made from it."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

from distkb.evidence.border import fit_to_show
from distkb.evidence.observation import Evidence, Observation, Quote, RankState, Skipped
from distkb.evidence.text.clean import mask, mask_lines, mask_value
from distkb.probing.document import RawDocument
from distkb.probing.judge import answer
from distkb_probes.secret_kinds import MASK, Kind, kinds, mask_kinds

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import secret_strings

EXAMPLES = [(kind, text) for kind in kinds() for text in kind.secret]
HARMLESS = [(kind, text) for kind in kinds() for text in kind.harmless]


@pytest.mark.parametrize(("kind", "text"), EXAMPLES, ids=[text[:30] for _, text in EXAMPLES])
def test_every_kind_masks_its_own_examples(kind: Kind, text: str) -> None:
    """What stands behind the bar is gone, what stands before it stays, and masking again changes nothing."""
    shown, _, hidden = text.partition("|")
    masked = mask(shown + hidden)
    assert re.split(r"[\s\"'},@]", hidden.strip())[0] not in masked, kind.name
    assert masked.startswith(shown.rstrip())
    assert mask(masked) == masked


@pytest.mark.parametrize(("kind", "text"), HARMLESS, ids=[text[:30] for _, text in HARMLESS])
def test_no_kind_masks_its_harmless_examples(kind: Kind, text: str) -> None:
    """What only looks like a secret is shown as it is."""
    assert mask(text) == text, kind.name


def test_no_secret_is_shown_and_hardly_anything_else_is_masked() -> None:
    """Of 400 secrets in the providers' own formats none is shown; of 2,000 harmless lines 1 % at most is masked."""
    assert len(list(secret_strings.positive())) >= 300
    assert secret_strings.leaks() == []
    lines = secret_strings.harmless()
    assert len(lines) >= 2000
    assert len(secret_strings.false_masks()) <= len(lines) // 100


def test_nothing_leaves_the_readers_with_a_secret() -> None:
    """Quotes, values and notes that a reader did not mask are masked at the border, a value by the name beside it."""
    secret = "hf_AbCdEfGhIjKlMnOpQrStUvWx"  # noqa: S105 - nobody's
    evidence = Evidence(
        observations=(
            Observation(
                id="x.y",
                source="log",
                quotes=(Quote(text=f"a {secret}\x1b[31m"),),
                values={"name": "hub_token", "value": "abcd1234efgh", "seen": secret},
            ),
        ),
        notes=(Quote(text=f"password={secret}", path=f"logs/{secret}.log"),),
        skipped=(Skipped(path=f"{secret}.log", code="failed", detail=f"ValueError: {secret}"),),
        ranks=(
            RankState(rank=0, state="failed", place=f"login('{secret}')", last=Quote(text=secret), sources=(secret,)),
        ),
        alike={"D1.a": Quote(text=f"a {secret}", path=f"/logs/{secret}")},
    )
    shown = fit_to_show(evidence)
    assert secret not in str(shown)
    assert "abcd1234" not in str(shown)
    assert shown.observations[0].quotes[0].text == "a ***"
    assert mask_value("db_password", "Pw1") == "***"
    assert mask_value("num_workers", "12345678") == "12345678"


def test_nothing_leaves_a_probe_with_a_secret() -> None:
    """What a probe collected is masked where its answer is made: texts, keys, and values by the name beside them."""
    secret = "https://user:s3cr3tPW@host/x"  # noqa: S105 - nobody's
    raw = RawDocument(
        schema="distkb.probe-raw/1",
        probe="env",
        status="ok",
        detail=f"{secret}\x1b[31m",
        facts={"host": {"name": secret, secret: 1}, "db_password": "Pw1", "seen": [secret, 3]},
    )
    shown = answer(raw, (), more=(Observation(id="a.b", source="probe", values={"value": secret}),))
    assert "s3cr3tPW" not in str(shown)
    assert "\x1b" not in shown.detail
    assert shown.facts["db_password"] == MASK
    assert shown.facts["seen"][1] == 3


def test_all_below_a_heading_of_secrets_is_one() -> None:
    """Values of a mapping called `secrets` are masked until the indentation ends."""
    lines = [
        "secrets:",
        "  wandb: 116b9ab962a98401495d3b87c9cd007994e2690b",
        "",
        "  other: 'river-tiger'",
        "steps: 40000",
    ]
    assert list(mask_lines(lines)) == ["secrets:", "  wandb: ***", "", "  other: '***'", "steps: 40000"]


@pytest.mark.parametrize(
    "line",
    [
        "AWS Secret Access Key [None]: |kQ3vZp8Lr2Wm9XtB7nYc4HdJ6sFg1AeUo5iRqTzV",
        "++ CREDS='AKIAQ3VZP8LR2WM9XTB7 |kQ3vZp8Lr2Wm9XtB7nYc4HdJ6sFg1AeUo5iRqTzV'",
        "Unseal Key 1: |tQ3vZp8Lr2Wm9XtB7nYc4HdJ6sFg1AeUo5iRqTzVbRut",
        "새 액세스 토큰을 발급했습니다 → |yQ3vZp8Lr2Wm9XtB7nYc4HdJ6sFg1AeUo5iRqTzV",
        "임시 비밀번호\uff1a|9PpgExR9i3dn",
        'run cancelled (TOGETHER_API_KEY was "|44388c35fad31c7226c5bf2e1d9e5bc2")',
        "slurmdbd: debug: StoragePass       = |lYE4VLJ3gPzVN",
        "mc alias set lab http://minio.lab:9000 trainer |IP4ccyH8b3OMjR70H17AbjRrQdLT",
        "Settings(fernet=b'|g24wtGrh6MTrbDMuZu9Oz5Nb_QQlZUeGNBUEA0l_b34=')",
        "db_passwd too long [input_value='|i*HllgZlRI05ye3na', input_type=str]",
        "HTTP 403 for url <https://conda.anaconda.org/t/|kr-dd59c346-2704-4f5f-b040/linux-64/repodata.json>",
        "CODECOV_TOKEN ?= |0lg667dr0o9j8i5ni1ciejj2jgee67ug",
        "| LOB_SECRET_KEY | |2f4c1d0b9a8e7f6c5d4b3a2918070605 |",
        '<add key="kucoinKey" value="|3dd8703b6c2bd63737ad94dd" />',
        'os.environ.setdefault("HF_TOKEN", "|lwOLAuTuOtfrKsXxIFeyPSpavJKGhWdfbL")',
        "helm upgrade x ./chart --set secrets.wandb=|116b9ab962a98401495d3b87c9cd007994e2690b",
        "got |7Q5sH1SZkFIoj45cWl2L22j9wXbGW from the environment",
        "WANDB_API_KEY 값은 |505491cd0a0a658a80e86b4c68a50396aff6c12e 입니다",
        "api_key (from env): '|44e323d639c2f252327a53c3d4138823'",
        "AssertionError: WANDB_API_KEY == '|036784bb858d8a92c14f72e2ae8368dc0ef6669e'",
        "sqlcmd -S h -U sa -P |orbit-korea-cluster",
        "rsync --password-file=<(echo |orbitdragonriver) a b",
        "SECRET_KEY_BASE=|c1e764d74758f9448cb4a7b5aca8b30728186f97dc54ee4ef04896a4d07e33",
        "tensorboard:|$apr1$xJ1v68PE$voD/ihIjdwPtOPZy7p1N16",
    ],
)
def test_secrets_in_the_surroundings_that_people_print_them_in(line: str) -> None:
    """Prompts, dumps and sentences do not show what stands behind the bar, nor a part of it."""
    shown, _, hidden = line.partition("|")
    secret = re.split(r"[\s\"'>)/]", hidden)[0]
    assert not any(secret[at : at + 10] in mask(shown + hidden) for at in range(len(secret) - 9))


def test_what_is_masked_does_not_hang_on_what_was_masked_before() -> None:
    """A text is masked as all kinds together mask it, also behind one that differs in nothing but its digits."""
    chance = random.Random(0)
    texts = [text.replace("|", "") for _, text in [*EXAMPLES, *HARMLESS] if text.isascii()]
    for text in [*texts, *(text for text in secret_strings.harmless() if text.isascii())]:
        for _ in range(3):
            other = re.sub("[0-9]", lambda _: chance.choice("0123456789"), text)
            assert mask(other) == mask_kinds(other, kinds())
