"""The kinds of secrets that logs, reports and settings hold, in one table, and the masking of all of them.

Each kind is an expression whose first group is what stays before the secret. None takes long on any text: repeats are
bounded, and where one is not, nothing follows that could fail. `tests/benchmarks/secret_strings.py` measures what is missed and what
is masked without need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from distkb_probes.secret_forms import PROVIDERS, RANDOM, RANDOM_BESIDE

MASK = "***"
_REST = re.compile(
    r"\*\*\*(?:[A-Za-z0-9+/=_.-]{12,}|:[A-Za-z0-9+/=_-]{16,}|(?:[ ,:]{1,2}[\"']?)[A-Za-z0-9+/]{40}(?![\w+/=]))"
)
"""What follows a mask without a break belongs to a secret that is longer than was looked at."""


class Kind(NamedTuple):
    """One kind: its expression, texts of which the part behind `|` is secret, and harmless texts that look like it."""

    name: str
    expression: str
    secret: tuple[str, ...]
    harmless: tuple[str, ...] = ()

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first looked for: few texts need more than a few kinds."""
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


_WORDS = (
    r"(?!\*\*\*)(?!(?:None|null|nil|true|false|str|string|bytes|int|bool|Optional|Any|required|missing|invalid|incorrect|wrong"
    r"|not|is|was|has|for|and|or|the|empty|unset|yes|no|set|given|file|expired|denied|failed|error|os\.environ|getenv"
    r"|getpass|self|args|config|cfg)(?![A-Za-z0-9]))"
    r"(?!<\||<\w{0,40}>|\$\{|\$\(|\$[A-Z_]{2}|%\(|\{)"
)
"""What stands where a value would and is none."""
_NUMBER = r"(?!\d{1,18}(?:\.\d{0,9})?(?:[\s,;.)\]}\"'&]|:(?:\s|$)|$))"
_TYPE = r"(?:\s?:\s{0,2}[A-Za-z][\w.]{0,20}(?:\[[\w., |]{1,40}\])?(?:\s\|\sNone)?(?=\s?=)|\s(?:string|str)(?=\s?:?=))?"
_SEPARATOR = rf"[\\]{{0,8}}[\"'`]?\]?(?:\s[\[(][^\])\n]{{1,24}}[\])])?{_TYPE}\s{{0,4}}(?:=>|->|:{{1,3}}=|[!=]==?|[?+.|]{{1,2}}=|\|\||[=:\uff1a])\s{{0,4}}"
_QUOTE = r"[\\]{0,8}[\"']"
_TYPED = r"(?:[!&]{1,2}\w{1,20}\s{1,4}|[bfru]{1,2}(?=[\"'])|Secret\w{0,10}\((?=[\"']))?"
"""What may stand between a separator and the value: a tag of YAML, a prefix or a type of Python."""
_GAP = r"(?:\s{1,4}|[\"'],\s{0,2}[\"'])"
"""Between two arguments of a command, also where it is written as a list."""
_DIGIT_AND_LETTER = r"(?=[^\s\d]{0,100}\d)(?=[^\sA-Za-z]{0,100}[A-Za-z])"
_RANDOM = (
    r"(?:(?=[^\sA-Z]{0,60}[A-Z])(?=[^\sa-z]{0,60}[a-z])(?=[^\s\d]{0,60}\d)"
    r"(?:(?=[A-Za-z_-]{0,40}\d{1,20}[A-Za-z_-]{1,40}\d{1,20}(?:[A-Za-z_-]|\b))[A-Za-z0-9_-]{20,200}|[A-Za-z0-9]{28,200})"
    r"(?![A-Za-z0-9_-]|[/.][A-Za-z0-9_])|[0-9a-f]{32,64}(?![A-Za-z0-9]))"
)
"""What nobody would have made up: capitals, small letters and digits in turn, or a long number in hexadecimal."""
_UUID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_BARE = r"(?:[^\s\"',;&)}\]\\]|[,;&)}\]](?=[^\s\"',;&)}\]\\])(?!.[\w.-]{1,60}[\"']?[=:]))"
"""Of a value without quotes: what ends one elsewhere belongs to it where neither a name nor nothing follows."""


def _named(name: str, least: int, also: str = "") -> tuple[str, str, str]:
    """Return the expressions for a value behind a name: in double quotes, in single ones, and bare."""
    head = rf"(?i)({name}{_SEPARATOR}{_TYPED}"
    return (
        rf"{head}[\\]{{0,8}}\"){_WORDS}{also}(?=[^\"\\]{{{least}}})(?:[^\"\\]|[\\]{{1,8}}(?![\"\\])){{1,400}}",
        rf"{head}'){_WORDS}{also}(?=[^']{{{least}}})[^']{{1,400}}",
        rf"{head}`?)(?![\"'\\`]|[bfru]{{1,2}}[\"']|Secret\w{{0,10}}\([\"']|[!&]{{1,2}}\w{{1,20}}\s){_WORDS}{also}{_BARE}{{{least},400}}",
    )


_NO_TOKEN = (
    r"(?<!(?:pad|eos|bos|unk|sep|cls|end|new|max|per|num|any|bad|eot|eom|one)[_ .-])(?<!(?:mask|stop|next|last|each|text)[_ .-])"
    r"(?<!(?:start|image|first|audio|video|added|input)[_ .-])(?<!(?:special|decoder|current|unknown)[_ .-])"
)
_PASSWORD = r"(?:passw(?:or)?d\d?|passphrase|(?<![A-Za-z])pwd|(?<=_)pass|\b(?:db|my|ssh|smtp|ftp|user|root|admin)pass)"
_OPENED = r"(?!\s{0,2}/|~/|\.{0,2}/)"
"""PWD is where a shell stands, too."""
_SECRET = (
    r"(?:api[_-]?keys?|(?<![A-Za-z])secrets?\.[\w.-]{1,60}|(?:access|private|auth|secret|signing|encryption|account|shared|license|master|subscription)[_.-]?key"
    r"(?:[_-]id|\.[\w.-]{4,80})?|secret(?:[_-](?:access|token|value))?|client-key-data|secret[_-]?id|(?:kaggle|wandb|comet|hf|openai|azure|s3|minio|ngc|fernet|hmac|jwt|session|app)[_-]?key|\bfernet|\bunseal key(?: \d)?|secret access key"
    r"|credentials?|webhook[_-]url|connection[_-]?string|(?<![A-Za-z])dsn)"
)
_KEY = (
    r"(?:(?i:(?<!cache)(?<!public)(?<!primary)(?<!foreign)(?<!partition)(?<!sort)(?<!hash)(?<!group)(?<!store)(?<!state)(?<!dict)"
    r"(?<!sample)(?<!shard)(?<!bucket)(?<!index)(?<!lookup)(?<!routing)(?<!host)(?<!idempotency)(?<!pub)(?<!graph)(?<!kernel)"
    r"(?<!cache )(?<!public )(?<!store )(?<!graph )(?<!host )(?<!hash )(?<!dict )(?:[_.-]key|(?<![A-Za-z])key))"
    r"|(?<=[a-z])Key)"
)
_ANY_NAME = rf"(?:(?i:{_NO_TOKEN}token|secret|passw(?:or)?d|passphrase|credential|apikey)s?|{_KEY})"
_ENDING = r"(?:(?![\w.-]{0,40}(?:hash|sha|md5|sum|digest|print|_id|file|path|name|version|ids)\b)[_.-][\w.-]{0,20})?"
"""What may follow such a word in a name."""
_WEAK = (
    r"(?:[\\]{0,8}[\"'`]?(?:\s{0,20}\|\s{0,20}|\t{1,4}|,\s{0,4}(?:\w{1,20}\s?=\s?)?|\s{0,2}\(|\)?\s{0,2}->\s{0,2}|\s{1,40})[\\]{0,8}[\"'`]?"
    r"|[\"']\s{1,4}(?:\w{1,20}:)?[Vv]alue\s?=\s?[\"'])"
)
"""What may stand between a name and its value in tables, lists of arguments and attributes."""
_NO_VALUE = (
    r"(?!(?:incorrect|invalid|wrong|required|missing|empty|expired|not|no|set|unset|too|being|stored|hidden|masked|used|needed"
    r"|optional|the|an?|in|on|at|for|from|of|and|or|to|by|as|correct|valid|same|different|given|provided|passed|prompt\w*|auth\w*"
    r"|file\w*|manager|field|based|hash\w*|less|reset|chang\w*|login|protected|policy|mismatch|fail\w*|was|is|are|has|have|must"
    r"|should|can\w*|will|does|did|do|never|only|also|now|still|already|here|there|then|when|if|with\w*|your?|my|our|his|their"
    r"|this|that|it|than|denied|reject\w*|accept\w*|error|ok|none|null|true|false|longer|shorter|weak|strong|known|unknown"
    r"|default|characters?|long|short|username|user|key|token|value|string|database|dialog|store|entry|entered)(?![A-Za-z0-9]))(?!\*\*\*)"
)
"""Words that follow `password` in a sentence and are none."""
_KOREAN_PASSWORD = r"(?:비밀\s?번호|비번|패스워드|암호)[는은가이를을]?"
_KOREAN_SECRET = (
    r"(?:토큰|시크릿(?:\s?키)?|(?:비밀|인증|액세스|접속|접근|보안|서비스|API|wandb|HF)\s?키)[는은가이를을]?"
)
_SECRET_NAME = rf"(?:[\w.-]{{0,60}}(?:passw(?:or)?d|passphrase|secret|[_-]key|credentials?|[_-]pass|[_-]pw)|(?:[\w.-]{{0,60}}[_.-])?{_NO_TOKEN}token)"
_ENVIRONMENT_NAME = r"[A-Z][A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|TOKEN|SECRET|KEY|APIKEY|CREDENTIALS?)"

_TABLE: tuple[tuple[str, str | tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "key block",
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?:[^\n]{0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|[^\n]*)",
        ("-----BEGIN RSA PRIVATE KEY-----| MIIEpAIBAAKCAQEAxyz -----END RSA PRIVATE KEY-----",),
        ("-----BEGIN CERTIFICATE-----", "BEGIN PRIVATE KEY is missing"),
    ),
    (
        "key body",
        (
            r"()(?<![\w+/])MII[A-Za-z0-9+/]{40,}={0,2}",
            r"((?:^|[\s\"'|>:=]))(?!AAAA[A-Z]3Nza)(?=[A-Za-z0-9+/]{60,80}(?:[=\\\"',\s]|$))(?=[^A-Z\s]{0,63}[A-Z])(?=[^a-z\s]{0,63}[a-z])"
            r"(?=[^0-9\s]{0,63}[0-9])[A-Za-z0-9+/]{60,80}",
        ),
        ("|MIIEpAIBAAKCAQEAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ",),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "MIIMetrics"),
    ),
    (
        "provider",
        rf"()(?<![A-Za-z0-9])(?=[\w$.~|:/+=-]{{11}})(?:{PROVIDERS})",
        ("login |hf_AbCdEfGhIjKlMnOpQrStUvWx", "key |sk-proj-AbCdEfGhIjKlMnOpQrStUv", "|npm_0123456789abcdefghij"),
        (
            "sk-learn-contrib-something-long",
            "pypi-simple-index-of-names",
            "key-value-store",
            "args.someattributeofthemodel",
        ),
    ),
    (
        "random",
        f"(){RANDOM}",
        ("got |aB3dE6gH9jK2mN5pQ8sTuV7w from it", "id=|q7w8e9r0t1y2u3i4o5p6a7s8"),
        (
            "Qwen2VLForConditionalGenerationV2",
            "_ZN4c10d16ProcessGroupNCCL8WorkNCCL12checkTimeoutESt8optional",
            "torchinductor_root/ab/cabcdefghijk2mnopq3rstuvw4xyzabcdefghijkl5mnopqrstuvw6.py",
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1",
        ),
    ),
    (
        "webhook",
        (
            r"(?i)(hooks\.slack(?:-gov)?\.com[\\]{0,8}/(?:services|workflows|triggers)[\\]{0,8}/)[\w/\\-]{1,400}",
            r"(/services[\\]{0,8}/)T[A-Z0-9]{7,14}[\\]{0,8}/B[A-Z0-9]{7,14}[\\]{0,8}/\w{16,60}",
            r"(?i)(discord(?:app)?\.com[\\]{0,8}/api[\\]{0,8}/(?:v\d{1,3}[\\]{0,8}/)?webhooks[\\]{0,8}/\d{1,24}[\\]{0,8}/)[\w-]{1,200}",
            r"(?i)(/t/)[a-z]{2}-[0-9a-f-]{36}",
            r"(?i)(\bconda\.anaconda\.org/t/|\bdl\.cloudsmith\.io/(?!basic|public))[\w-]{12,200}",
            r"(?i)(webhook\.office\.com/|outlook\.office(?:365)?\.com/webhook/|open\.feishu\.cn/open-apis/bot/v2/hook/)[^\s\"'<>]{1,400}",
        ),
        ("https://hooks.slack.com/services/|T00000000/B00000000/ZZZZZZZZZZZZZZZZ",),
        ("https://hooks.slack.com", "https://discord.com/channels/1/2"),
    ),
    (
        "login in an address",
        (
            r"(?i)(\b[a-z][a-z0-9+.-]{1,20}:(?:[\\]{0,8}/){2}(?!\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}:)[^\s/@:\"'<>\\]{0,100}:)(?!\d{1,5}/)"
            r"(?:(?:[^\s@/\"'<>]{1,100}@){1,2}[^\s@/\"'<>]{1,100}|[^\s@\"'<>]{1,300})(?=@)",
            r"(?i)(\bhttps?:(?:[\\]{0,8}/){2})[^\s/@:\"'<>*]{12,200}(?=:@)",
            r"(?i)(\bhttps?:(?:[\\]{0,8}/){2})(?:[^\s/@:\"'<>]{20,200}|(?=[^\s/@:\d]{0,100}\d)[^\s/@:\"'<>]{12,200})(?=@)",
            r"(?<![\w/.:@=-])(?!mailto:)([A-Za-z][\w.-]{0,40}:)(?!\d{1,12}@)(?!//)[^\s:/@\"'<>(),]{2,200}(?=@(?!sha256)[A-Za-z0-9-]{1,60}(?:\.[A-Za-z0-9-]|:\d|/|\s|$))",
        ),
        ("https://user:|s3cr3t@host/x", "https://|TOKENonlyUSER123456@git.example.com/x", "redis://:|pw@redis:6379/0"),
        (
            "ssh://git@github.com:22/x",
            "s3://bucket@1234567:path",
            "file:///a:b@c",
            "http://registry:5000/image@sha256:0a",
        ),
    ),
    (
        "signed address",
        r"(?i)([?&;](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|access_token|auth|sas_?token|code"
        r"|password|passwd|pwd|hmac|jwt|session_?id|secret|api_?key|(?:key|token)(?==[^\s&]{12}))=)[^\s&\"'<>]{1,2000}",
        ("https://a.blob.core.windows.net/c?sp=r&sig=|ABCDEF%3D",),
        ("https://host/x?key=loss&token=512", "signature=forward(x)"),
    ),
    (
        "account key",
        r"(?i)(\b(?:account|sharedaccess|primary|secondary|instrumentation)(?:key|signature)(?:value|name)?=)[A-Za-z0-9+/=%-]{12,}",
        ("AccountName=a;AccountKey=|Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6",),
        ("AccountKey=",),
    ),
    (
        "authorization",
        r"(?i)((?:proxy-)?authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?)(?!\*\*\*)(?!(?:required|failed|denied|header|none|null|missing"
        r"|error)\b)(?:AWS4-HMAC-SHA256\s[^\n\"']{1,1000}|(?:(?:bearer|basic|token|digest|negotiate|apikey|[A-Z]\w{1,16}(?=\s[\w.-]{16}))\s{1,4})?[^\s\"',;]{1,2000})",
        ("Authorization: |Bearer abcdef.ghij-klm", "authorization=|Basic dXNlcjpwYXNz"),
        ("Authorization: required",),
    ),
    (
        "bearer",
        r"(?i:(\b(?:bearer|apikey)\s{1,4}))(?:(?=[a-z.~+/=_-]{0,200}[0-9A-Z])[\w.~+/=-]{8,}|[a-z]{20,})",
        ("Bearer |abc123def456",),
        ("bearer torch.distributed", "bearer of news"),
    ),
    (
        "key of Weights & Biases",
        r"(?i)(\b(?:wandb[ :.]{1,2}login|api[ _-]?key|wandb[^\n]{0,12}키)(?![A-Za-z])[^\n]{0,30}?)(?<![A-Za-z0-9])[0-9a-f]{40}(?![A-Za-z0-9])",
        ("wandb: login with api key |0123456789abcdef0123456789abcdef01234567",),
        ("wandb: Syncing run 0123456789abcdef0123456789abcdef01234567",),
    ),
    (
        "cookie",
        (
            r"(?i)(\b(?:set-)?cookie[\"']?\s{0,2}[:=]\s{0,2}[\"']?)[\w.-]{1,64}=[^\"'\n]{1,2000}",
            rf"(?i)(\bcurl\b[^\n|;&]{{0,160}}?(?:-b|--cookie){_GAP}[\"']?)[\w.-]{{1,64}}=[^\"'\n]{{1,400}}",
        ),
        ("Cookie: |session=ABCDEFGHIJ",),
        ("cookie: none", "magic cookie 0x6d4f"),
    ),
    (
        "login and password",
        r"(?i)(\b(?:id|user|login|account|계정|아이디|접속\s?정보)\s?/\s?(?:pw|pass(?:word)?|비번|비밀번호)\s?[:=]?\s{0,3}[^\s/:]{1,60}\s?/\s?)(?!\*\*\*)[!-~]{4,200}",
        ("id/pw: me/|hunter22",),
        ("user/password is wrong",),
    ),
    (
        "password",
        (*_named(_PASSWORD, 1, _OPENED), rf"((?<![A-Za-z])PASS=[\"']?){_WORDS}{_OPENED}[^\s\"']{{1,400}}"),
        (
            "password: |Pw1",
            "password=|48151623",
            "pwd: |hunter22",
            "DB_PASS=|secret55",
            'password: "|correct horse battery"',
        ),
        ("PWD=/home/me", "backward pass: 12.3 ms", "password: str = None", "password = os.environ['X']"),
    ),
    (
        "secret",
        (
            *_named(_SECRET, 4, _NUMBER),
            r"((?<![A-Za-z0-9_])[A-Z][A-Z0-9_]{2,60}_KEY[\"']?\]?\s{0,2}[:=]\s{0,2}[\"']?)(?=[^\s\d]{0,400}\d)(?=[^A-Za-z\s]{0,400}[A-Za-z])"
            r"[A-Za-z0-9+/=_-]{24,400}",
        ),
        (
            "AZURE_STORAGE_KEY=|H5LCjYuLWipnjvvl9zvPjw2cb0iuBqBcc0/Asl/4Kkm",
            "aws_secret_access_key = |wJalrXUtnFEMI/K7MDENG",
            "api_key: '|zzzz-yyyy'",
            "client_secret=|abcd1234",
        ),
        ("secret_sauce.py:12", "access_key_id is missing", "private_key file /etc/ssl/key.pem missing"),
    ),
    (
        "token",
        _named(_NO_TOKEN + "token", 8, _NUMBER),
        ("HF_TOKEN=|abcdefghijkl", '{"access_token": "|JSONTOKsecret12"}', "    token: |KUBEtokABCDEFG"),
        ("eos_token: <|im_end|>", 'pad_token="<|endoftext|>"', "token: 151936", "num_tokens: 123456789012"),
    ),
    (
        "비밀번호",
        (
            *_named(_KOREAN_PASSWORD, 1, _OPENED),
            *_named(_KOREAN_SECRET, 4, _NUMBER),
            rf"({_KOREAN_PASSWORD}\s{{1,4}}[\"'`]?)(?!(?:AES|SHA|RSA|MD5|TLS|SSH|LDAP|DB|None|null|[Tt]rue|[Ff]alse)(?![a-z]))(?!\*\*\*)[A-Za-z0-9][!-~]{{3,400}}",
            r"((?:토큰|키)[는은]\s{1,4}[\"'`]?)(?=[!-~]{0,100}\d)(?=[!-~]{0,100}[A-Za-z])[!-~]{12,400}",
            rf"({_KOREAN_SECRET}\s{{1,4}}[\"'`]?){_RANDOM}",
            rf"({_KOREAN_SECRET}[\uac00-\ud7a3 ]{{0,24}}[:(\u2192]\s{{0,3}}[\"'`]?)(?:{_RANDOM}|{_UUID})",
        ),
        (
            "비밀번호: |한글비번99",
            "토큰=|secret99xyz",
            "비번은: |abcd",
            "암호는 |abc123입니다",
            "토큰이 만료되었습니다: |aB3dE6gH9jK2mN5pQ8sT",
            "인증키(|0f8fad5b-d9cb-469f-a165-70867728950e)",
        ),
        ("토큰: 512", "비밀번호가 틀렸습니다", "토큰 수: 4096"),
    ),
    (
        "option that is named",
        (
            r"(--secret\s{1,2}[\w:.-]{1,60}\s{1,2}[\"'])(?!\*\*\*)[^\"'\n]{4,200}",
            r"(?i)((?<![\w-])--?[\w-]{0,40}?(?:password|passwd|passphrase|(?<!by)(?<!com)pass|(?<![A-Za-z])pw|pwd|secret(?:[-_]id)?"
            r"|(?:api|access|secret|private|wandb|hf|openai|account|storage|shared|slot|encryption|signing|license|auth)[-_]?key"
            rf"|credentials?|_auth|auth[-_]?token|access[-_]?token)(?:=|{_GAP})[\"']?){_WORDS}(?!-)[^\s\"']{{1,400}}",
        ),
        ("tool --keypass |hunter2 --x", "vault write x secret_id=|0f8fad5b-d9cb-469f-a165-70867728950e"),
        ("--bypass-cache 12", "--num-passes 3"),
    ),
    (
        "option of a login",
        (
            rf"(?i)((?<![\w-])--?[\w-]{{0,24}}(?:user|auth|login|creds?|credentials)(?:=|{_GAP})[\"']?(?!\d{{1,10}}:)[^\s:\"'=/]{{1,100}}:)"
            r"(?!//|\*\*\*)[^\s\"']{2,400}",
            rf"(?i)(\b(?:curl|http|https|xh)\b[^\n|;&]{{0,160}}?[\s\"'](?:-u|--user|-a|--auth)(?:{_GAP}|\s{{0,4}})[\"']?[^\s:\"']{{1,100}}:[\"']?)"
            r"(?!\*\*\*)[^\s\"']{1,400}",
        ),
        ("curl --proxy-user me:|hunter22 https://x",),
        ("docker run --user 1000:1000 image",),
    ),
    (
        "option of an archive",
        r"(\b(?:7z[ar]?|rar|unrar)\s[^\n|;&]{0,80}?\s-p|\b(?:un)?zip\b[^\n|;&]{0,80}?\s-P\s{0,4}[\"']?)(?!\*\*\*)[^\s\"']{1,200}",
        ("unzip -P |secret12 data.zip",),
        ("unzip -d data x.zip", "mkdir -p logs"),
    ),
    (
        "pass",
        r"(?<![\w.-])((?:(?<![a-z0-9]\s)[Pp]ass|[Pp][Ww])[\"']?\s{0,2}[:=]\s{0,2}[\"']?)(?=\S{0,40}\d)(?=[^A-Za-z\s]{0,40}[A-Za-z])"
        r"(?!\d{1,9}(?:\.\d{1,9})?\s?(?:[mun]?s|%|[kKmMgG]i?[bB]|it|x|sec)\b)[^\s\"',;]{6,200}",
        ("  pass: |hunter22",),
        ("backward pass: 12.3ms", "pass: 3/4", "first pass: step12"),
    ),
    (
        "before its name",
        r"((?:^|[\s/:(,\"'`]))(?=[!-~]{0,60}\d)(?=[!-~]{0,60}[A-Za-z])[^\s\"'`/(),]{6,80}(?=[\"'`]?\s?(?:\((?:비번|비밀번호|암호|패스워드|[Pp]assword|[Pp]w|[Ss]ecret)\)|(?:이|가)\s(?:비번|비밀번호|암호|패스워드)|\s(?:is|was)\s(?:not\s)?(?:an?\s|the\s|my\s|our\s)?(?:(?:in)?valid\s)?(?:password|api[ _-]key|token|secret)\b))",
        ("me / |hunter22 (비번)", "|hunter22 가 비밀번호"),
        ("step12 (loss)",),
    ),
    (
        "option",
        (
            rf"(?i)(--(?:[a-z]{{1,20}}[-_]){{0,3}}{_NO_TOKEN}(?<!with-)token(?:=|{_GAP})[\"']?){_WORDS}(?!-)(?!\d{{1,18}}(?:[\s\"']|$))[^\s\"']{{4,400}}",
            r"(?i)(\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\b[^\n|;&]{0,120}?[\s\"']-p)(?!\*\*\*)[^\s\"']{1,200}",
            rf"(?i)(\bsshpass{_GAP}(?:-[ve]{_GAP}){{0,3}}-p(?:{_GAP}|\s{{0,4}})[\"']?)(?!\*\*\*|,)[^\s\"']{{1,200}}",
            rf"(?i)(\b(?:(?:docker|podman|nerdctl|helm registry|az|buildah|skopeo){_GAP}login|twine|mongo|mongosh|mongodump|ldap\w{{2,12}})\b"
            rf"[^\n|;&]{{0,120}}?[\s\"']-[pw](?:{_GAP}|\s{{0,4}})[\"']?)(?!\*\*\*|,)[^\s\"'-][^\s\"']{{0,400}}",
            rf"(?i)(\bredis-cli\b[^\n|;&]{{0,120}}?[\s\"']-a{_GAP}[\"']?)(?!\*\*\*)[^\s\"']{{1,400}}",
            r"(?i)(\bsmbclient\b[^\n|;&]{0,120}?\s(?:-U|--user)[\s=]{0,4}[\"']?[^\s%\"']{1,100}%)(?!\*\*\*)[^\s\"']{1,400}",
            rf"(\bssh-keygen\b[^\n|;&]{{0,120}}?[\s\"']-[NP]{_GAP}[\"']?|\bopenssl\b[^\n|;&]{{0,160}}?[\s\"']-k{_GAP}[\"']?)(?![*]{{3}}|-)[^\s\"']{{1,200}}",
            rf"(-pass(?:in|out)?{_GAP}[\"']?pass:)(?!\*\*\*)[^\s\"']{{1,200}}",
            r"(\b(?:echo|printf)\s{1,4}(?:-\w{1,3}\s{1,4})?(?:[\"']%s(?:\\n)?[\"']\s{1,4})?[\"']?)(?!\*\*\*)[^\s\"'|]{3,200}"
            r"(?=[\"']?\s{0,4}\|\s{0,4}(?:sudo\s{1,4}-S|(?:sudo\s{1,4})?(?:ch)?passwd|[^\n|]{1,120}--(?:password-stdin|token-stdin|with-token)))",
            r"(?i)((?:pass|token|secret|key)[\w-]{0,30}[\s=]{1,2}<\(\s{0,2}(?:echo|printf)\s{1,3}[\"']?)(?!\*\*\*)[^\s\"')]{3,200}",
            r"(?i)(\b(?:put|create|set|add|store|update)[-_ ]secrets?\b[^\n]{0,120}?\s--?[\w-]{0,20}(?:value|string|data)[\s=]{1,2}[\"']?)(?!\*\*\*)[^\s\"']{3,400}",
            r"((?:^|\s)(?:-[uU]|--user(?:name)?)[\s=]?(?!\d{1,10}[\s:])[^\s:]{1,60}\s{1,2}-[pP]\s?[\"']?)(?!\*\*\*|-|\d{1,5}(?:[:\s]|$))[^\s\"']{3,200}",
            r"(?i)(\bhtpasswd\s(?:-\w{1,6}\s){1,3}\S{1,100}\s\S{1,60}\s)(?!\*\*\*)\S{3,200}",
            r"(?i)(\bhttp-basic\.[\w.-]{1,60}\s\S{1,60}\s[\"']?)(?!\*\*\*)[^\s\"']{3,200}",
            r"(\b(?:kinit|passwd|su|login|secrets?)\b[^\n<]{0,160}<<<\s{0,4}[\"']?)(?!\*\*\*)[^\s\"']{3,400}",
            r"(?i)(\bsecrets?\s(?:set|put|create|add|update|versions\sadd)\b[^\n]{0,120}?\s--?[\w-]{0,20}(?:value|string|data)[\s=]{1,2}[\"']?)(?!\*\*\*)[^\s\"']{3,400}",
            r"(\bredis-cli\b[^\n]{0,80}\s(?:AUTH|auth)\s[\"']?)(?!\*\*\*)[^\s\"']{3,200}",
            r"(\bsend\s(?:--\s)?[\"'])(?!\*\*\*)[^\s\"'\\]{4,200}(?=\\r)",
            r"(?i)(\bnet\suse\s[^\n]{1,120}?/user:\S{1,60}\s)(?!\*\*\*)\S{4,200}",
            r"(?i)(\blftp\s[^\n]{0,80}?-u\s?[^\s,]{1,60},)(?!\*\*\*)\S{3,200}",
            r"(\s-p\s[\"']?)(?=[^\s\d]{0,20}\d)(?=[^\sA-Z]{0,20}[A-Z])(?=[^\sa-z]{0,20}[a-z])(?!\S{0,60}[:/=.,])[^\s\"']{8,60}",
            r"(--(?:pass(?:word|wd|phrase)?-file|password-stdin|token-stdin|with-token)[^\n<]{0,200}<<<\s{0,4}[\"']?)(?!\*\*\*)[^\s\"']{1,400}",
        ),
        (
            "mysql -uroot -p|secret55",
            "sshpass -p |secret12 ssh h",
            "tool --password |hunter2 --x",
            "docker login -u me -p |abcdefgh",
            "['train.py', '--api_key', '|abcdefgh']",
            "['sshpass', '-p', '|secret12']",
            "unzip -P |secret12 data.zip",
            "openssl rsa -passin pass:|secret12",
            "echo |secret12 | sudo -S true",
            "az storage blob list --account-key |Eby8vdM02xNO",
            "rsync --password-file=/dev/stdin <<< '|rsyncPa55' a b",
        ),
        (
            "docker run -p 8080:80 image",
            "unzip -d data x.zip",
            "echo 12345 | tee log",
            "openssl version -k",
            "mkdir -p logs",
            "--max-token 512",
            "--pad_token <pad>",
        ),
    ),
    (
        "pair of a name and a secret",
        (
            r"((?<![A-Za-z0-9])[A-Z][A-Z0-9_]{0,40}_(?:AUTH|USERPWD|LOGIN|CREDS|CREDENTIALS)[\"']?\s{0,2}[=:]\s{0,2}[\"']?[^\s:\"'/=]{1,80}:)"
            r"(?!//|\*\*\*)[^\s\"',]{2,200}",
            r"(?i)(\b(?:basic|http|proxy)_?auth[\"']?\s{0,2}[:=]\s{0,2}[\"']?[^\s:\"'/]{1,80}:)(?!//|\*\*\*)[^\s\"',]{2,200}",
            rf"(?i)({_QUOTE}_?auth{_QUOTE}\s{{0,2}}:\s{{0,2}}{_QUOTE})[A-Za-z0-9+/=]{{12,}}",
            rf"(?i)({_QUOTE}username{_QUOTE}\s{{0,2}}:\s{{0,2}}{_QUOTE}[^\"'\n]{{1,100}}{_QUOTE},\s{{0,4}}{_QUOTE}key{_QUOTE}\s{{0,2}}:"
            rf"\s{{0,2}}{_QUOTE})[^\"'\\\n]{{8,200}}",
            rf"(?i)({_QUOTE}?name{_QUOTE}?\s{{0,2}}[:=]\s{{0,2}}(?:{_QUOTE})?{_SECRET_NAME}(?:{_QUOTE})?(?:[,;]\s{{0,20}}|\s{{1,20}})(?:{_QUOTE})?value(?:{_QUOTE})?"
            rf"\s{{0,2}}[:=]\s{{0,2}}(?:{_QUOTE})?){_WORDS}{_NUMBER}[^\s\"'\\,}}]{{1,400}}",
            rf"(?i)({_QUOTE}?name{_QUOTE}?\s{{0,2}}[:=]\s{{0,2}}(?:{_QUOTE})?[\w.-]{{0,60}}(?:passw(?:or)?d|passphrase|[_-]pass|[_-]pw)(?:{_QUOTE})?(?:[,;]\s{{0,20}}|\s{{1,20}})(?:{_QUOTE})?value(?:{_QUOTE})?"
            rf"\s{{0,2}}[:=]\s{{0,2}}(?:{_QUOTE})?){_WORDS}[^\s\"'\\,}}]{{1,400}}",
            rf"(?i)([(\[]\s?[bu]?[\"'](?:{_PASSWORD}|{_SECRET})[\"'],\s{{0,2}}[bu]?[\"']){_WORDS}(?=[^\"'\n]{{1,400}}[\"']\s?[)\]])[^\"'\n]{{1,400}}",
            rf"(?i)([(\[]\s?[bu]?[\"'](?:\w{{0,40}}_)?{_NO_TOKEN}token[\"'],\s{{0,2}}[bu]?[\"']){_WORDS}{_DIGIT_AND_LETTER}[^\"'\n]{{8,400}}",
            rf"(?i)((?:\b\w{{0,40}}[a-z]pass|[_.-]pw)\s{{0,20}}[:=]\s{{0,4}}[\"']?){_DIGIT_AND_LETTER}[^\s\"',;]{{8,200}}",
            r"(?i)(auth\s?=?\s?\(\s?[\"'][^\"'\n]{1,80}[\"'],\s{0,2}[\"'])(?!\*\*\*)[^\"'\n]{3,200}",
            rf"(\b\w{{0,20}}Client\((?:\w{{1,60}},\s?)?){_RANDOM}",
            r"(?i)(\.(?:auth|login|authenticate)\(\s?[\"'][^\"'\n]{1,80}[\"'],\s{0,2}[\"'])(?!\*\*\*)[^\"'\n]{1,200}",
            r"(?i)(\bkey[\"']?\s?[:=]\s?[\"'])(?!\*\*\*)[^\"'\n]{8,200}(?=[\"'],\s{0,4}[\"']?secret)",
            r"((?:^|\n)\s{0,20}pass\s{0,4}=\s{0,4}[\"']?)(?!\*\*\*|true|false|yes|no\b)[^\s\"']{6,200}",
            r"(?i)(\bauth[\"']?(?:\s{0,2}[:=]\s{0,2}|\s)[\"']?[\w.@-]{1,60}:)(?!//|\*\*\*)(?!\d{1,5}(?:\D|$))[^\s\"',:/]{6,200}",
            r"(\b(?:Minio|\w{0,20}(?:[Cc]onnect|[Ll]ogin|[Aa]uth\w{0,10}|Credentials?))\(\s?(?:[\"'][^\"'\n]{0,80}[\"'],\s?){1,2}[\"'])(?!\*\*\*)[^\s\"'/]{8,200}(?=[\"']\s?[,)])",
            r"(?i)([\"'](?:pass|pw)[\"']\s{0,2}:\s{0,2}[\"'])(?!\*\*\*|true|false|yes|no|ok)[^\s\"']{6,200}(?=[\"'])",
            r"(?i)([{,]\s{0,4}[\"']key[\"']\s{0,2}:\s{0,2}[\"'])[0-9a-f]{32}(?=[\"'])",
            r"(?i)(<[\w.-]{0,40}(?:password|passwd|passphrase|secret|token|key)>)(?=[^<\n]{1,400}</)[^<\n]{1,400}",
        ),
        (
            "basic_auth: me:|hunter22",
            '"auth": "|dXNlcjpwYXNzd29yZA=="',
            "<password>|hunter22</password>",
            "- name: DB_PASSWORD\n  value: |hunter22",
            '{"name": "DB_PASSWORD", "value": "|hunter22"}',
            "[('user', 'me'), ('password', '|hunter22')]",
            "server.login('me', '|hunter22')",
            "  pass: |hunter22",
        ),
        (
            "('token', 'embedding')",
            "name: num_tokens, value: 12",
            "backward pass: 12.3ms",
            "pass: 3/4",
            "special token <token> is added",
            "first pass: step12",
        ),
    ),
    (
        "password behind a word",
        (
            r"(?i)(\bidentified\s{1,3}by\s{1,3}(?:password\s{1,3})?[\"'])(?!\*\*\*)[^\"'\n]{1,200}",
            rf"(?i)(\bpass(?:word|phrase) for [\"']?(?:https?:)?[^\n:]{{1,100}}:\s{{1,3}}){_WORDS}\S{{1,200}}",
            rf"(?i)(\bpass(?:word|phrase|wd|code)s?(?:\s{{1,4}}(?:is|was|are|to|now|set|changed|reset)){{1,3}}:?\s{{1,4}}[\"'`]?){_NO_VALUE}[^\s\"'`]{{4,400}}",
            rf"(?i)((?<![A-Za-z])pass(?:word|phrase|wd)\s{{1,4}}[\"'`(]?){_NO_VALUE}(?:[^\s\"'`)]{{0,60}}\d[^\s\"'`)]{{3,60}}|[a-z]{{3,20}}(?:[-_.][a-z]{{3,20}}){{2,6}})",
            rf"((?<![A-Za-z])(?i:pass(?:word|phrase|wd))\s{{1,4}}[\"'`(]?)(?i:{_NO_VALUE})[\w!@#$%^&*+-]{{0,30}}[a-z_][A-Z][\w!@#$%^&*+-]{{2,60}}",
            rf"(?i)(\b(?:with|using)\s(?:the\s)?pass(?:word|phrase)\s{{1,2}}[\"'`]?){_NO_VALUE}[^\s\"'`]{{4,200}}",
            rf"(?i)((?<![A-Za-z])pass(?:word|phrase|wd)\s{{0,2}}[>?\u00bb\u276f]\s{{1,2}}){_NO_VALUE}[^\s\"'`]{{4,200}}",
            rf"(?i)((?<![A-Za-z])pass(?:word|phrase|wd)\s{{1,2}}[\"'`]){_NO_VALUE}[^\s\"'`]{{4,200}}(?=[\"'`])",
            r"(?i)(\b(?:user|username|login|uid)\s?[=:]\s?[\"']?[^\s,;\"']{1,60}[\"']?[,;&\s]{1,3}[\"']?(?:pass|pw|pwd)\w{0,5}[\"']?\s?[=:]\s?[\"']?)(?!\*\*\*)[^\s\"',;&]{3,200}",
            rf"(\b(?:login|authenticate|connect)\(\s?[\w.@-]{{1,60}},\s?){_DIGIT_AND_LETTER}[^\s\"'(),]{{6,200}}",
            r"(\bAUTH\s{1,2}[\"']?)(?=[^\s\d]{0,100}\d)(?=[^\sA-Za-z]{0,100}[A-Za-z])[A-Za-z0-9][^\s\"']{7,200}",
            r"(?i)(\bSharedKey(?:Lite)?\s{1,2}[\w-]{1,60}:)[A-Za-z0-9+/]{20,100}={0,2}",
            r"(?i)(\b(?:aws_secret_access_key|aws_session_token|(?:auth|access|api|bot)_token|api_key|secret_key)\s{1,4}[\"']?)"
            r"(?=[^\s\d]{0,200}\d)(?=[^\sA-Za-z]{0,200}[A-Za-z])[^\s\"'=:().]{16,}",
            r"(?i)(\b(?:login|user|username|account|id)\s{1,4}\S{1,100}\s{1,4}(?:password|passwd|pass|pw)\s{1,4}[\"']?)(?!\*\*\*)(?!(?:is|was|auth\w*|fail\w*|in|for|has)\b)[^\s\"']{3,400}",
            r"((?:^|\n)\s{0,20}(?:password|passwd|passphrase)\s{1,4})(?!\*\*\*)[^\s\"']{3,200}(?=\s{0,4}(?:\n|$))",
            rf"((?<![A-Za-z0-9]){_ENVIRONMENT_NAME}\s[\"'`]){_NO_VALUE}[^\s\"'`]{{4,400}}(?=[\"'`])",
            rf"((?i:passw(?:or)?d|passphrase|secret|pwd)\s?(?:의\s)?(?:값)?(?:은|는|이|가|을|를)\s{{1,3}}[\"'`]?){_NO_VALUE}(?!\$|<|/)[!-~]{{4,400}}",
            rf"({_ANY_NAME}\s?(?:의\s)?(?:값)?(?:은|는|이|가|을|를)\s{{1,3}}[\"'`]?){RANDOM_BESIDE}",
            rf"((?<![A-Za-z0-9]){_ENVIRONMENT_NAME}(?:\s(?:to|as|with|value|is|was|currently|now)(?:\s(?:is|was|of|now|set\sto))?|\s?(?:의\s)?(?:값)?(?:은|는|이|가|을|를))\s{{1,3}}[\"'`]?)"
            rf"{_NO_VALUE}(?!\$|<|/)[!-~]{{4,400}}",
            rf"(\b{_ENVIRONMENT_NAME}\s(?:was|is)\s[\"']?){_DIGIT_AND_LETTER}[^\s\"']{{12,400}}",
            rf"(\b{_ENVIRONMENT_NAME}_COMMAND=[\"']?(?:echo|printf)\s)[^\s\"']{{6,400}}",
            r"(?i)(\b[\w.-]{0,40}(?:passw|passphrase|secret|token|key\b)[^\n]{0,200}?\binput_value=[\"'])(?!\*\*\*)[^\"'\n]{1,400}",
            r"(\bmc alias set \S{1,100} \S{1,200} \S{1,100} )\S{8,200}",
            r"(?i)(\bauth plain )[A-Za-z0-9+/=]{16,}",
            r"(?i)(\bkey = )[A-Za-z0-9+/]{38}==",
            rf"(\s-k\s[\"']?){_RANDOM}",
            r"(?i)(\baccount\.key\.[\w.-]{1,100}\s{1,4})[A-Za-z0-9+/=]{40,}",
            rf"((?<![\w./-])(?:\*|[\w.-]{{1,80}}):(?:543\d|6432):(?:\*|[\w-]{{1,60}}):[\w.-]{{1,60}}:){_DIGIT_AND_LETTER}[^\s:\"'\\]{{6,200}}",
            r"(?i)(\b\w{0,20}(?:password|passwd|passphrase)\s{1,4}(?:(?:is|was|to|now|set|changed|reset)\s{1,4}){0,4}[\"']?)"
            rf"{_DIGIT_AND_LETTER}[^\s\"']{{6,400}}",
            rf"(\b(?:ENV|ARG|export|setenv|SetEnv|set(?:\s-\w{{1,3}}){{0,2}})\s{{1,4}}{_ENVIRONMENT_NAME}\s{{1,4}}[\"']?){_DIGIT_AND_LETTER}[^\s\"'=]{{4,400}}",
            rf"((?<![A-Za-z0-9]){_ENVIRONMENT_NAME}[\"'],\s{{0,4}}[\"']){_WORDS}(?![A-Z][A-Z0-9_]{{1,60}}[\"'])[^\s\"']{{6,400}}(?=[\"'])",
            rf"({_ANY_NAME}{_ENDING}{_WEAK}){RANDOM_BESIDE}",
            rf"({_ANY_NAME}{_ENDING}{_SEPARATOR}{_TYPED}[\\]{{0,8}}[\"'`]?){RANDOM_BESIDE}",
            rf"((?i:\b(?:api[ _-]?keys?|netrc|logged in|credentials?|secret|passwords?|access[ _-]token|(?<!cache )(?<!store )key)\b)[^\n]{{0,80}}?(?<![\w/@.+-])"
            rf"(?<!run )(?<!commit )(?<!sha )(?<!rev )(?<!hash )(?<!digest )(?<!id )(?<!=)(?<!sha256:)(?<!SHA256:)){_RANDOM}",
            r"((?i:\b(?:token|api[ _-]?keys?|secret|(?:access|license)[ _-]key|bearer|apikey)\b[\"'`]?"
            r"(?:[ ,:=]{1,3}(?:is|was|are|yours|has|to|of|the|this|my|value|characters|long|must|be|from|for|with|using|\d{1,3})){0,8}"
            rf"[ ,:=]{{1,3}}[\"'`]?)){_RANDOM}",
        ),
        (
            "machine h login u password |NETRCsecret1234",
            "fs.azure.account.key.lake.dfs.core.windows.net |Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6",
            "db.svc:5432:optuna:rw:|P3RTRRB5KQ",
            "ENV DB_SECRET |hunter22",
            "the token is |aB3dE6gH9jK2mN5pQ8sT",
            "API key must be 40 characters long, yours was |aB3dE6gH9jK2mN5pQ8sT",
        ),
        (
            "password authentication failed for user",
            "password-less ssh to node1 failed",
            "token decoder_layers_0_self_attention_1_weight",
            "set HF_TOKEN and try again",
        ),
    ),
)


@cache
def kinds() -> tuple[Kind, ...]:
    """Return all kinds, in the order in which they are masked."""
    return tuple(
        Kind(name, pattern, secret if number == 0 else (), harmless if number == 0 else ())
        for name, patterns, secret, harmless in _TABLE
        for number, pattern in enumerate((patterns,) if isinstance(patterns, str) else patterns)
    )


TELLTALE = re.compile(
    r"(?i)key|secret|passw|passphrase|pass\b|pass[=:\"']|pwd|pw|credential|token|authoriz|bearer|login|cookie|hook|sig|auth"
    r"|code=|dsn|connection|identified|smb|mysql|maria|curl|redis-cli|mongo|twine|ldap|7z|rar|zip|openssl|sudo|stdin|services/"
    r"|[\uac00-\ud7a3]|:(?:543\d|6432):|client\(|\s-k\s|mc alias|anaconda|cloudsmith|fernet|unseal"
)
"""Without any of these only secrets of their own form, and those in addresses, need be looked for."""
SELF_EVIDENT = ("key block", "key body", "provider", "random", "login in an address")


def mask(text: str) -> str:
    """Return the text with `***` in the place of every secret."""
    telling = TELLTALE.search(text) is not None
    return mask_kinds(text, (kind for kind in kinds() if telling or kind.name in SELF_EVIDENT))


def mask_kinds(text: str, wanted: Iterable[Kind]) -> str:
    """Return the text with `***` in the place of every secret of some kinds."""
    for kind in wanted:
        text = kind.pattern.sub(rf"\1{MASK}", text)
    return _REST.sub(MASK, text) if MASK in text else text
