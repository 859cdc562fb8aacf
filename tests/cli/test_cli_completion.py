"""Completion in bash, zsh and fish: commands, ids, settings, flags, probes and facts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from distkb.locale import Language, Say

PROGRAM = str(Path(sys.executable).with_name("distkb"))
SHELLS = ("bash", "zsh", "fish")


def completed(shell: str, *words: str) -> list[str]:
    """What the shell is told for the last of these words."""
    environ = {
        **os.environ,
        "_DISTKB_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(("distkb", *words)),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
    }
    done = subprocess.run([PROGRAM], env=environ, capture_output=True, text=True, check=False, timeout=300)
    assert not done.stderr
    return done.stdout.replace(",", "\n").replace("\t", "\n").splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_ids_settings_flags_and_probes_are_completed(shell: str) -> None:
    """Each shell gets what begins like the word: an entry, a variable, a flag with its dashes, a probe, a command."""
    assert "D21" in completed(shell, "show", "D2")
    assert "NCCL_DEBUG_FILE" in completed(shell, "show", "NCCL_DEB")
    assert "--rdzv-endpoint" in completed(shell, "show", "--rdzv")
    assert "stacks" in completed(shell, "probe", "sta")
    assert "diagnose" in completed(shell, "diag")
    assert "D21" in completed(shell, "repro", "run", "d2")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_what_is_completed_says_what_it_does(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and options come with their help in the user's language, never with the key of a sentence."""
    monkeypatch.setenv("DISTKB_LANG", lang)
    for words, key in ((("probe", ""), "help.probe.stacks"), (("",), "help.digest"), (("digest", "--"), "option.json")):
        told = completed("fish", *words)
        assert Say(lang)(key).split(",")[0].partition(". ")[0] in told
        assert not [one for one in told if one.startswith(("help.", "option.", "probe.", "repro."))]


def test_facts_are_completed_name_first() -> None:
    """`--fact` gets names, then the values of the one that is named."""
    assert "symptom=" in completed("bash", "diagnose", "--fact", "sym")
    assert "symptom=hang" in completed("bash", "diagnose", "--fact", "symptom=")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_takes_what_the_documentation_says() -> None:
    """The line of the README defines the function that bash calls."""
    line = 'eval "$(_DISTKB_COMPLETE=bash_source distkb)"; complete -p distkb'
    environ = {**os.environ, "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", line], env=environ, capture_output=True, text=True, check=False, timeout=300)
    assert "_distkb_completion" in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_readme_names_every_shell(name: str) -> None:
    """Both languages say what to write into the profile of each shell."""
    text = (Path(__file__).parents[2] / name).read_text(encoding="utf-8")
    for shell in SHELLS:
        assert f"_DISTKB_COMPLETE={shell}_source" in text
