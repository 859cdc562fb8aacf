"""How many secrets are shown, and how much that is harmless is masked: `python tests/benchmarks/secret_strings.py`.

The secrets are drawn from `secret_shapes.yaml`, what providers document and people write; the harmless strings are
lines of the recorded and healthy logs, of the examples in the knowledge base, and odd ones.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from pathlib import Path

from distkb.evidence.text.clean import mask, plain, quote_text

ROOT = Path(__file__).parents[2]
LOGS = ("tests/replay/recorded", "tests/healthy/logs", "tests/evidence/data", "kb")
ALNUM = string.ascii_letters + string.digits

SHAPES = Path(__file__).with_name("secret_shapes.yaml")
"""Tokens that are known by their own form wherever they stand, and secrets known by what stands beside them."""
ALPHABETS = {
    "letters": string.ascii_letters,
    "digits": string.digits,
    "alnum": ALNUM,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "url-safe": ALNUM + "-_",
    "base64": ALNUM + "+/",
}
ANYWHERE = ("login with {} ok", "{}", "[rank0]: 401 Client Error: {} is not valid", 'key "{}"', "export X={}", "['{}',")
AROUND = ("{}", "[rank3]: RuntimeError: cannot log in: {}", "2026-11-23 10:00:00,123 INFO {}", "+ {}")
ODD = (
    "python -m deepspeed.launcher.launch --world_info=eyJub2RlLTEiOiBbMCwgMSwgMiwgM119 --master_port=29500",
    "http://localhost:6006/?runSelectionState=eyJydW4tMSI6ZmFsc2V9",
    "token decoder_layers_0_self_attention_1_weight is not in the state dict",
    "[('token', 'embedding'), ('password', None)]",
    "unzip -d data shards.zip && zip -r out.zip out",
    "echo 4096 | tee /proc/sys/vm/nr_hugepages",
    "env: - name: NUM_TOKENS value: 4096",
    "commit 2048049f3a2b8c9d0e1f2a3b4c5d6e7f80912345",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "wandb: Syncing run 0123456789abcdef0123456789abcdef01234567",
    "wandb: Run data is saved locally in wandb/run-20261123_010203-3k2j1h9x",
    "wandb: View run at https://wandb.ai/team/proj/runs/3k2j1h9x",
    'tokenizer = AutoTokenizer(pad_token="<|endoftext|>")',
    "max_tokens=4096 eos_token: <|im_end|>",
    "token embedding.weight has shape [151936, 4096]",
    "special token <extra_id_0> token_type_ids mismatch expected_dim",
    "ValueError: token 151936 out of range",
    "tokens per second: 123456.78",
    "store->get(token default_pg/0//cuda//0)",
    "unexpected key decoder.layers.0.weight in state_dict",
    'KeyError: "model.layers.0.self_attn.k_proj.weight"',
    "TCPStore key rendezvous_backend_0001 not set",
    "NCCL WARN NET/IB : Got async event : port error key mismatch",
    "secret_sauce.py:12 in forward_pass_through",
    "RuntimeError: private_key file /etc/ssl/key.pem missing",
    "the login node node-0001 wandb 0123456789abcdef0123456789abcdef01234567",
    "rank 0 password-less ssh to node1 failed",
    "sk-learn-contrib-something-long version",
    "--key_cache_dtype=float16 --pad_token <pad>",
    "token: <s> 1",
    "checkpoint s3://bucket@1234567:path",
    "ssh://git@github.com:22/x",
    "10.0.0.1:29500@eth0 tcp://10.0.0.1:29500",
    "docker run -p 8080:80 -v /a:/b image@sha256:0a1b",
    "http://registry:5000/image@sha256:0a1b2c",
    "bearer torch.distributed",
    "backward pass: 12.3 ms, forward pass=8.1 ms",
    "PWD=/home/user/run OLDPWD=/home/user",
    "password authentication failed for user",
    "토큰 수: 4096, 초당 토큰: 12345",
    "비밀번호가 틀렸습니다",
)


def positive() -> Iterator[tuple[str, str]]:
    """Yield a text with a secret in it, and the secret."""
    import yaml

    source = random.Random(23)
    shapes = yaml.safe_load(SHAPES.read_text(encoding="utf-8"))
    for shape, alphabet, length in shapes["anywhere"]:
        for around in ANYWHERE:
            secret = shape.replace("{}", _made(source, ALPHABETS[alphabet], length))
            yield around.replace("{}", secret), secret
    for shape, alphabet, length in shapes["beside"]:
        for around in AROUND:
            secret = _made(source, ALPHABETS[alphabet], length)
            yield around.replace("{}", shape.replace("{}", secret)), secret
    kinds = shapes["surroundings"]["kinds"]
    for text in shapes["surroundings"]["texts"].splitlines():
        pieces = re.split(rf"<({'|'.join(kinds)})>", text)
        for at in range(1, len(pieces), 2):
            shape, alphabet, length = kinds[pieces[at]]
            pieces[at] = shape.replace("{}", _made(source, ALPHABETS[alphabet], length))
        whole = "".join(pieces)
        whole = whole if whole.lstrip().startswith(("{", '"')) else whole.replace("\\n", "\n")
        yield from ((whole, secret) for secret in pieces[1::2])


def _made(source: random.Random, alphabet: str, length: int) -> str:
    made = "".join(source.choice(alphabet) for _ in range(length))
    return made if any(c.isdigit() for c in made) else f"{made[:-1]}7"


def harmless() -> list[str]:
    """Return lines without a secret, each once."""
    lines: dict[str, None] = dict.fromkeys(ODD)
    for folder in LOGS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".log", ".txt"} and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                lines |= dict.fromkeys(plain(line).strip()[:240] for line in text.splitlines() if line.strip())
    return list(lines)


def leaks() -> list[tuple[str, str]]:
    """Return the texts whose secret is still in them, and what became of them."""
    return [(text, mask(text)) for text, secret in positive() if shows(mask(text) + quote_text(text), secret)]


def shows(text: str, secret: str) -> bool:
    """Whether a text holds a secret, or so much of a long one that the rest can be guessed."""
    parts = (secret[at : at + 12] for at in range(8, len(secret) - 12)) if len(secret) >= 24 else ()
    return secret in text or any(part in text for part in parts)


def false_masks() -> list[tuple[str, str]]:
    """Return the harmless lines that are masked, and what became of them."""
    return [(line, shown) for line in harmless() if (shown := mask(line)) != line]


def main() -> None:
    """Print the figures, and each string that is wrong."""
    texts, lines, shown, masked = list(positive()), harmless(), leaks(), false_masks()
    print(f"{len(texts)} secrets, {len(shown)} shown")  # noqa: T201
    for text, rest in shown:
        print(f"  {text!r} -> {rest!r}")  # noqa: T201
    print(f"{len(lines)} harmless lines, {len(masked)} masked ({len(masked) / len(lines):.2%})")  # noqa: T201
    for text, rest in masked:
        print(f"  {text!r} -> {rest!r}")  # noqa: T201


if __name__ == "__main__":
    main()
