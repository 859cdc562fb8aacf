"""Text that is fit to be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.evidence.text.clean import WIDTH, mask, mask_lines, plain, quote_text

HF = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWx"
WANDB = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"login with {HF} ok", HF),
        (f"WANDB_API_KEY={WANDB}", WANDB),
        (f"wandb login {WANDB}", WANDB),
        ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI"),
        ("Authorization: Bearer abcdef.ghij-klm", "abcdef.ghij-klm"),
        ('{"Authorization": "Basic dXNlcjpwYXNz"}', "dXNlcjpwYXNz"),
        ("git clone https://bob:s3cret@host/x.git", "s3cret"),
        ("--password hunter2hunter2", "hunter2hunter2"),
        ("db_password='topsecret!'", "topsecret"),
        ("api_key: 'zzzz-yyyy-xxxx'", "zzzz-yyyy-xxxx"),
        ("HF_TOKEN=abcdefghijkl", "abcdefghijkl"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    """No secret of the usual forms is shown, and the rest of the line is."""
    masked = mask(text)
    assert secret not in masked
    assert "***" in masked
    assert masked[:4] == text[:4] or text.startswith("{")


@pytest.mark.parametrize(
    "text",
    [
        "tokens/s: 12345.6 tokenizer=gpt2 num_tokens=512",
        "max_tokens: 4096, key_padding_mask=None",
        "wait timeout after 300000ms, keys: /default_pg/0//cuda//0",
        "KeyError: 'LOCAL_RANK'",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "Missing key(s) in state_dict: module.weight",
    ],
)
def test_ordinary_lines_are_not_masked(text: str) -> None:
    """Words of training logs that sound like secrets stay."""
    assert mask(text) == text


def test_escapes_go() -> None:
    """Colours, titles, links, overrides and zero-width characters leave only the words."""
    assert (
        plain("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 a\u202eb\u200bc\x08\x9b1mx") == "red link abcx"
    )


@given(st.text(max_size=400), st.integers(0, 400), st.integers(0, 60))
def test_quotes_are_printable_and_short(text: str, start: int, length: int) -> None:
    """Whatever the line, its quote has no control character and no more than the agreed width."""
    quote = quote_text(text, min(start, len(text)), min(start + length, len(text)))
    assert len(quote) <= WIDTH
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in quote)


def test_cut_keeps_the_match() -> None:
    """A long line is cut around the match, and a secret beside it stays masked."""
    text = "x " * 5000 + f"token={HF} Timed out waiting here " + "y " * 5000
    at = text.index("Timed out")
    quote = quote_text(text, at, at + 18)
    assert "Timed out waiting" in quote
    assert "AbCd" not in quote
    assert quote.startswith("…")
    assert quote.endswith("…")


@pytest.mark.parametrize("label", ["", "    ", "[rank0]: ", "| ", "'''"])
def test_of_a_key_over_several_lines_no_line_is_left(label: str) -> None:
    """Also where only its middle and its short end are seen, and whatever lines begin with; what follows stays."""
    body = ["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW", "QyNTUxOQAAACDy7Zq3b/K+s="]
    key = [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        *body,
        "-----END OPENSSH PRIVATE KEY-----",
        "step 1 loss 0.5",
        "hello",
    ]
    lines = [label + line for line in key]
    for first in (0, 1):
        shown = list(mask_lines(lines[first:]))
        assert not any(part in " ".join(shown) for line in body for part in (line, line[:12]))
        assert shown[-2:] == lines[-2:]


def test_the_value_below_the_name_of_a_secret_is_masked() -> None:
    """A list of variables as Kubernetes writes it: the name is in one line and the value in the next."""
    lines = ["env:", "- name: DB_PASSWORD", "  value: hunter22", "- name: RUN", "  value: hunter22", "hunter22"]
    shown = list(mask_lines(lines))
    assert shown == [*lines[:2], "  value: ***", *lines[3:]]
