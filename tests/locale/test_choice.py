"""Which language the program speaks."""

from __future__ import annotations

import pytest

from distkb.locale import Language, Say, as_language, choose, sentence


@pytest.mark.parametrize(
    ("args", "environ", "expected"),
    [
        ([], {}, "en"),
        ([], {"LANG": "ko_KR.UTF-8"}, "ko"),
        ([], {"LANG": "ko_KR.UTF-8", "LC_ALL": "C"}, "en"),
        ([], {"LANG": "en_US.UTF-8", "LC_ALL": "ko_KR"}, "ko"),
        ([], {"LANG": "de_DE.UTF-8"}, "en"),
        ([], {"LANG": "ko_KR.UTF-8", "DISTKB_LANG": "en"}, "en"),
        ([], {"DISTKB_LANG": "tlh", "LANG": "ko"}, "ko"),
        (["search", "x", "--lang", "ko"], {"DISTKB_LANG": "en"}, "ko"),
        (["--lang=ko", "list"], {}, "ko"),
        (["search", "--", "--lang", "ko"], {}, "en"),
        (["list", "--lang"], {"LANG": "ko"}, "ko"),
        (["list", "--lang", "fr"], {"LANG": "ko"}, "ko"),
    ],
)
def test_the_language_is_chosen_in_the_documented_order(
    args: list[str], environ: dict[str, str], expected: Language
) -> None:
    """`--lang` wins over DISTKB_LANG, that over LC_ALL, that over LANG; what is not ours counts as not given."""
    assert choose(args, environ) == expected


def test_language_names_are_read_in_all_their_spellings() -> None:
    """Locale names with a territory, a charset or a hyphen mean their language."""
    assert [as_language(name) for name in ("ko", "KO_KR", "ko-KR", "en_US.UTF-8", "C", "", None)] == [
        "ko",
        "ko",
        "ko",
        "en",
        None,
        None,
        None,
    ]


def test_a_value_with_braces_is_put_in_as_it_is() -> None:
    """Values are never read as templates, in sentences with and without particles."""
    assert "`{name}`" in sentence("error.no-entry", "ko", name="{name}")
    assert "`{0.__class__}`" in sentence("error.no-entry", "en", name="{0.__class__}")


def test_a_missing_key_is_a_mistake_in_the_program() -> None:
    """A key that does not exist is not papered over."""
    with pytest.raises(KeyError):
        Say("en")("no.such.key")
