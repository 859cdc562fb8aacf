"""What secrets look like by themselves: the forms that providers publish, and strings that nobody would have made up.

`secret_kinds` puts them into the table of kinds, and says what stands beside secrets that have no form of their own.
"""

from __future__ import annotations

PROVIDERS = (
    r"hf_(?:(?=[a-z]{0,40}[A-Z0-9])[A-Za-z0-9]{8,}|[a-z]{20,})|api_org_[A-Za-z0-9]{16,}"
    r"|sk-(?:[A-Za-z0-9]{20,}|(?=[a-z_-]{0,100}[0-9A-Z])[\w-]{16,})"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
    r"|gl(?:pat|dt|rt|cbt|ptt|ft|ffct|imt|agent|oas|soat|wt)-[\w-]{16,}(?:\.[\w-]{1,20}){0,2}"
    r"|GR1348941[\w-]{20,}|_gitlab_session=[0-9a-f]{32}"
    r"|(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|ABSK[A-Za-z0-9+/]{60,}={0,2}"
    r"|bedrock-api-key-[A-Za-z0-9+/=_.-]{16,}"
    r"|xox[abceoprs](?:\.?xox[abp])?-[\w-]{10,}|xapp-\d-[\w-]{10,}"
    r"|AIza[\w-]{30,}|ya29\.[\w.-]{16,}|1//0[\w-]{30,}|GOCSPX-[\w-]{16,}|nvapi-[\w-]{16,}|wandb_v\d_\w{16,}"
    r"|local-[0-9a-f]{40}"
    r"|[srp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[\w+/=]{16,}|npm_[A-Za-z0-9]{16,}|pypi-AgE[\w-]{10,}"
    r"|hv[sbr]\.[\w-]{16,}|s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?![\w.])|dapi[0-9a-f]{32}(?:-\d)?"
    r"|dckr_(?:pat|oat)_[\w-]{16,}"
    r"|SG\.[\w-]{16,}\.[\w-]{16,}|SG\.[\w=.-]{60,}|r8_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}"
    r"|xai-[A-Za-z0-9]{20,}|lsv2_(?:pt|sk)_\w{16,}"
    r"|ATATT[\w=-]{20,}|ATCTT[\w=-]{20,}|ATBB[A-Za-z0-9]{24,}|KGAT_[0-9a-f]{32}|do[opr]_v1_[0-9a-f]{32,}"
    r"|rpa_[A-Z0-9]{20,}"
    r"|glsa_\w{16,}|tskey-[\w-]{16,}|AGE-SECRET-KEY-1[0-9A-Z]{20,}|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,6}"
    r"|ops_eyJ[A-Za-z0-9+/]{60,}={0,3}"
    r"|pul-[0-9a-f]{40}|shp(?:at|ss|ca|pa)_[0-9A-Fa-f]{32}|sq0(?:atp|csp)-[\w-]{20,}|EAAA[\w-]{60}"
    r"|figd_[\w-]{20,}|lin_api_\w{20,}|sbp_[0-9a-f]{32,}"
    r"|key-[0-9a-f]{32}(?![\w-])|(?:bot)?\d{8,10}:A[\w-]{34}|bot\d{8,10}:[\w-]{30,}"
    r"|[MNO][A-Za-z0-9]{23,27}\.[\w-]{6}\.[\w-]{27,}"
    r"|[\w~.-]{3}\dQ~[\w~.-]{31,40}|SK[0-9A-Fa-f]{32}(?![\w-])|HRKU-[\w-]{30,}|nfp_[A-Za-z0-9]{30,}"
    r"|pscale_(?:tkn|pw|oauth)_[\w=.-]{20,}"
    r"|ntn_[A-Za-z0-9]{30,}|PMAK-[0-9a-f]{24}[0-9a-f-]*|dp\.(?:pt|st|ct|scim|audit)\.[\w.-]{30,}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]*"
    r"|glc_[\w+/=]{30,}|NRAK-[A-Z0-9]{20,}|NRII-[\w-]{30,}|NRJS-[0-9a-f]{19}|sntry[su]_[\w+/=-]{30,}"
    r"|pcsk_\w{30,}|pplx-[A-Za-z0-9]{30,}|tgp_v1_[\w-]{30,}"
    r"|fw_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{20,}|phc_[A-Za-z0-9]{30,}|[0-9a-f]{32}-us\d{1,2}\b|oy2[a-z0-9]{43}"
    r"|rubygems_[0-9a-f]{32,}"
    r"|\$(?:apr1|2[abxy]|[56y]|argon2(?:id|i|d))\$[\w./$,=+-]{20,}"
    r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|[ps]at\.[\w-]{20,24}\.\w{20,26}\.\w{16,24}|fm[12][ar]?_[\w+/=-]{30,}"
    r"|fo1_[\w-]{43}"
    r"|AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,}|LTAI[A-Za-z0-9]{17,26}|AQVN[\w-]{35,38}"
    r"|YC[\w-]{38}(?![\w-])|t1\.[A-Z0-9a-z_-]+[=]{0,2}\.[\w-]{86}={0,2}"
    r"|sha256~[\w-]{40,}|dt0[a-z]\d\d\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}|sl\.[\w=-]{100,}"
    r"|EZ[AT]K[A-Za-z0-9]{54}|EAA[MC][A-Za-z0-9]{100,}|\d{15,16}\|[\w-]{27,40}"
    r"|duffel_(?:test|live)_[\w=-]{43}|shippo_(?:live|test)_[0-9A-Fa-f]{40}|ico-[A-Za-z0-9]{32}"
    r"|pn[ub]_[A-Za-z0-9]{36}|sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}"
    r"|xkeysib-[0-9a-f]{64}-[a-z0-9]{16}|xsmtpsib-[0-9a-f]{64}-\w{16}|CLOJARS_[a-z0-9]{60}"
    r"|FLWSECK(?:_TEST)?-[0-9a-z]{12,32}(?:-X)?|fio-u-[\w=-]{64}"
    r"|s-s4t2(?:ud|af)-[0-9a-f]{64}|(?:live|test)_(?:[0-9a-f]{35}|(?=[a-z]{0,20}\d)[a-z0-9]{40})(?!\w)"
    r"|v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"
    r"|(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,}"
    r"|API-[A-Z0-9]{26}|access-(?:sandbox|development|production)-[0-9a-f-]{36}"
    r"|[sp]k\.eyJ[\w-]{20,}\.[\w-]{10,}|sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}|slk_[0-9a-f]{64}"
    r"|rdme_[a-z0-9]{70}|tfp_[\w.=-]{59}|u?api-[0-9a-f]{32,40}(?!\w)|mcp_[A-Za-z0-9]{30,}"
    r"|dckr_[a-z]+_[\w-]{20,}|CFPAT-[\w-]{43}|p8e-[a-z0-9]{32}|dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"
    r"|tk-us-[\w-]{48}|hsp_[A-Za-z0-9]{30,}|apify_api_[A-Za-z0-9]{36}|sk_[A-Za-z0-9]{29}(?!\w)"
    r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}|ops?_[A-Za-z0-9]{40,}|co_api_[\w-]{20,}"
    r"|LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}|gAAAAA[\w=-]{60,}"
    r"|eyJ(?:[A-Za-z0-9_-]{12,}\.[\w-]*(?:\.[\w-]*)?|(?:hbGci|0eXAi|raWQi|hcGl|hdXRo|1c2Vy|0b2tl|wYXNz|zZWNy|hY2Nl|rIjoi|hIjoi)[A-Za-z0-9+/_-]{8,}={0,2})"
)
"""The last three: PEM in base64, a token of Fernet, and a JSON Web Token or JSON in base64 that begins with `alg`,
`typ`, `kid`, `api`, `auth`, `user`, `token` and so on."""

_UNIT = (
    r"(?:[A-Z]{1,6}(?=[A-Z][a-z])|[A-Z][a-z]{1,6}(?![a-z])|[A-Z]{1,6}(?![A-Za-z])|[a-z]{1,6}(?![a-z])|\d{1,6}(?!\d))"
)
"""A short word, capitalised or not, some capitals or a number: names that people make up have few in a row."""
_END = r"(?![\w/]|[.+-]\w)"
_MIXED = r"(?=[^\sA-Z]{0,60}[A-Z])(?=[^\sa-z]{0,60}[a-z])(?=[^\s\d]{0,60}\d)"
_BEGIN = (
    r"(?<![\w/.+-])(?=[\w+/-]{24})(?!_Z|eyJ|AAAA[A-Z]3Nza|(?:sha|SHA)\d{1,3}[:-])"
    r"(?<!sha1-)(?<!sha256[:-])(?<!SHA256:)(?<!sha384-)(?<!sha512-)(?<!MD5:)(?<!ssh-rsa )"
)
"""Names of C++, public keys and checksums are nobody's secret; nor is what stands in a path."""

RANDOM = (
    rf"{_BEGIN}(?:{_MIXED}(?=[\w-]{{0,24}}?{_UNIT}{{8}})[\w-]{{24,400}}{_END}"
    rf"|{_MIXED}(?=[\w+/-]{{0,24}}?{_UNIT}{{8}})(?=[\w+/-]{{38}})[\w+/-]{{38,400}}={{0,2}}(?![\w/=]|[.-]\w)"
    rf"|(?![cf][a-z2-7]{{51}}(?![a-z0-9]))(?=[a-z0-9]{{0,40}}[g-z])(?=[a-z]{{0,40}}\d)(?={_UNIT}{{7}})[a-z0-9]{{24,400}}{_END})"
)
"""Strings that change between capitals, small letters and digits so often that no person wrote them."""

_WORD = _UNIT.replace("1,6", "1,40")
"""The same of any length."""
RANDOM_BESIDE = (
    rf"(?:{_MIXED}(?=[\w+/-]{{0,24}}?{_WORD}{{5}})[\w+/-]{{16,400}}={{0,2}}(?![\w/]|[.]\w)"
    rf"|(?=[a-z]{{0,40}}\d)(?=\d{{0,20}}[a-z])(?={_WORD}{{4}})[a-z0-9]{{15,400}}[\w-]{{0,100}}(?![\w/.-])"
    r"|[0-9A-Fa-f]{24,128}(?![\w-])|[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![\w-]))"
)
"""Such strings where a name says that a secret follows: shorter, and numbers in hexadecimal too."""
