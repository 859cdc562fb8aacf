"""How many secrets are shown, and how much that is harmless is masked: `python tests/benchmarks/secret_strings.py`.

The secrets are made here from the formats that the providers document, not from the expressions that look for them; the
harmless strings are lines of the recorded and healthy logs, of the examples in the knowledge base, and odd ones.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from pathlib import Path

from distkb.evidence.text.clean import mask, plain, quote_text

ROOT = Path(__file__).parents[2]
LOGS = ("tests/replay/recorded", "tests/healthy/logs", "tests/evidence/data", "kb")
ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"

FORMATS: tuple[tuple[str, str, int], ...] = (
    ("hf_{}", string.ascii_letters, 34),
    ("sk-proj-{}", URL_SAFE, 48),
    ("sk-{}", ALNUM, 48),
    ("sk-ant-api03-{}", URL_SAFE, 60),
    ("ghp_{}", ALNUM, 36),
    ("gho_{}", ALNUM, 36),
    ("ghs_{}", ALNUM, 36),
    ("github_pat_{}", ALNUM, 60),
    ("glpat-{}", ALNUM, 20),
    ("gldt-{}", ALNUM, 20),
    ("AKIA{}", UPPER, 16),
    ("ASIA{}", UPPER, 16),
    ("xoxb-{}", LOWER, 40),
    ("xoxp-{}", LOWER, 40),
    ("xapp-1-{}", UPPER, 40),
    ("AIza{}", URL_SAFE, 35),
    ("ya29.{}", URL_SAFE, 60),
    ("GOCSPX-{}", URL_SAFE, 28),
    ("nvapi-{}", URL_SAFE, 60),
    ("wandb_v1_{}", ALNUM, 40),
    ("sk_live_{}", ALNUM, 24),
    ("rk_live_{}", ALNUM, 24),
    ("npm_{}", ALNUM, 36),
    ("pypi-AgEIcHlwaS5vcmc{}", URL_SAFE, 80),
    ("hvs.{}", ALNUM, 24),
    ("hvb.{}", ALNUM, 40),
    ("dapi{}", HEX, 32),
    ("dckr_pat_{}", URL_SAFE, 27),
    ("SG.{0}.{0}", ALNUM, 22),
    ("gsk_{}", ALNUM, 52),
    ("dop_v1_{}", HEX, 64),
    ("glsa_{}", ALNUM, 32),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{0}.{0}", URL_SAFE, 40),
)
"""Tokens that are known by their own form, wherever they stand."""
ANYWHERE = ("login with {} ok", "{}", "[rank0]: 401 Client Error: {} is not valid", 'key "{}"', "export X={}", "['{}',")
CONTEXTS: tuple[tuple[str, str, int], ...] = (
    ("https://hooks.slack.com/services/T00000000/B00000000/{}", ALNUM, 24),
    ("https://discord.com/api/webhooks/123456789012345678/{}", URL_SAFE, 68),
    ("https://acct.blob.core.windows.net/c/b?sv=2022-11-02&sp=r&sig={}", ALNUM, 43),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core.windows.net", BASE64, 86),
    ("https://user:{}@pypi.example.com/simple", ALNUM, 10),
    ("clone https://user:pw/{}@git.example.com/x", ALNUM, 10),
    ("clone https://{}@git.example.com/x", ALNUM, 24),
    ("redis://:{}@redis:6379/0", ALNUM, 12),
    ("postgresql://me:{}@db.internal:5432/runs", ALNUM, 12),
    ("connecting to me:{}@db.internal", ALNUM, 12),
    ('{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n", "type": 1}}', BASE64, 80),
    ("-----BEGIN RSA PRIVATE KEY----- {} -----END RSA PRIVATE KEY-----", BASE64, 120),
    ("-----BEGIN OPENSSH PRIVATE KEY-----{}", BASE64, 120),
    ("password: {}", ALNUM, 3),
    ("password={}", string.digits, 8),
    ("passwd = '{}'", ALNUM, 9),
    ('password: "{} with blanks"', ALNUM, 9),
    ("DB_PASS={}", ALNUM, 12),
    ("PGPASSWORD={} psql", ALNUM, 12),
    ("MLFLOW_TRACKING_PASSWORD={}", ALNUM, 12),
    ("  pwd: {}", ALNUM, 12),
    ("cmd: mysql --password={}", ALNUM, 12),
    ("cmd: tool --password {} --x", ALNUM, 12),
    ("tool --pw {}", ALNUM, 12),
    ("tool --hub-token {}", LOWER, 16),
    ("tool --api-key={}", ALNUM, 16),
    ("mysql -uroot -p{} db", ALNUM, 12),
    ("sshpass -p {} ssh h", ALNUM, 12),
    ("docker login -u me -p {} registry", ALNUM, 12),
    ("twine upload -u me -p {} dist/*", ALNUM, 12),
    ("redis-cli -h r -a {} ping", ALNUM, 12),
    ("curl -u me:{} https://host/x", ALNUM, 12),
    ("machine h login u password {}", ALNUM, 12),
    ("Cookie: session={}", ALNUM, 20),
    ("Set-Cookie: id={}; Path=/", ALNUM, 20),
    ("Authorization: Basic {}", BASE64, 24),
    ("'Authorization': 'Bearer {}'", URL_SAFE, 24),
    ("curl -H 'authorization: token {}'", ALNUM, 24),
    ("X-Api-Key: {}", ALNUM, 24),
    ("wandb: login with api key {}", HEX, 40),
    ("wandb login {}", HEX, 40),
    ("COMET_API_KEY={}", ALNUM, 25),
    ("NEPTUNE_API_TOKEN=eyJ{}", BASE64, 60),
    ("aws_secret_access_key = {}", BASE64, 40),
    ("AWS_SESSION_TOKEN={}", BASE64, 80),
    ("client_secret={}", ALNUM, 20),
    ('{{"access_token": "{}"}}', ALNUM, 20),
    ('{{\\\\"refresh_token\\\\": \\\\"{}\\\\"}}', ALNUM, 20),
    ("    token: {}", ALNUM, 30),
    ("HF_TOKEN={}", LOWER, 12),
    ("비밀번호: {}", ALNUM, 12),
    ("비밀번호는 : {}", ALNUM, 12),
    ("토큰={}", ALNUM, 16),
    ("API 키: {}", ALNUM, 16),
    ("connect(host='h', password='{}')", ALNUM, 12),
)
"""Secrets of any form, known by what stands beside them."""
AROUND = ("{}", "[rank3]: RuntimeError: cannot log in: {}", "2026-11-23 10:00:00,123 INFO {}", "+ {}")
ODD = (
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
    source = random.Random(23)
    for shape, alphabet, length in FORMATS:
        for around in ANYWHERE:
            secret = shape.format(_made(source, alphabet, length))
            yield around.format(secret), secret
    for context, alphabet, length in CONTEXTS:
        for around in AROUND:
            secret = _made(source, alphabet, length)
            yield around.format(context.format(secret)), secret


def _made(source: random.Random, alphabet: str, length: int) -> str:
    made = "".join(source.choice(alphabet) for _ in range(length))
    return made if alphabet == string.digits or any(c.isdigit() for c in made) else f"{made[:-1]}7"


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
    found = []
    for text, secret in positive():
        shown = quote_text(text)
        rest = mask(text)
        pieces = {secret} | (
            {secret[at : at + 12] for at in range(8, len(secret) - 12)} if len(secret) >= 24 else set()
        )
        if any(piece in shown or piece in rest for piece in pieces):
            found.append((text, rest))
    return found


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
