"""A small catalogue for the search tests, written in code so that no entry of the knowledge base can change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distkb.catalogue.model import Catalogue, Cause, Entry, Fix, Signature, Term, Text, Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.catalogue.model import Likelihood, Role


def signature(id_: str, pattern: str, example: str, role: Role = "primary") -> Signature:
    """Build a signature that means nothing in particular."""
    return Signature(id=id_, pattern=pattern, role=role, means=Text(en="-", ko="-"), example=example)


def entry(
    id_: str,
    title: tuple[str, str],
    *,
    aliases: tuple[Sequence[str], Sequence[str]] = ((), ()),
    symptoms: Sequence[tuple[str, str]] = (),
    cited: Sequence[tuple[str, Likelihood]] = (),
    signatures: Sequence[Signature] = (),
) -> Entry:
    """Build an entry with one cause and one fix."""
    text = Text(en=title[0], ko=title[1])
    plain = Text(en="-", ko="-")
    fix = Fix(id=f"{id_}.a.1", title=plain, steps=(plain,), cost="edit", risk="none", verify=plain)
    cause = Cause(
        id=f"{id_}.a",
        title=text,
        explanation=plain,
        prior="common",
        evidence={word: tuple(o for o, given in cited if given == word) for _, word in cited},
        fixes=(fix,),
    )
    return Entry(
        id=id_,
        slug=title[0].lower().replace(" ", "-"),
        family="hangs",
        status="draft",
        since="0.1.0",
        title=text,
        aliases=Words(en=tuple(aliases[0]), ko=tuple(aliases[1])),
        summary=text,
        symptoms=tuple(Text(en=en, ko=ko) for en, ko in symptoms),
        signatures=tuple(signatures),
        causes=(cause,),
        references=(),
    )


def term(id_: str, en: Sequence[str], ko: Sequence[str]) -> Term:
    """Build a glossary term from its forms."""
    text = Text(en=id_, ko=id_)
    return Term(id=id_, term=text, forms=Words(en=tuple(en), ko=tuple(ko)), definition=text)


TERMS = (
    term("hang", ["hang", "hung", "freeze", "froze", "stuck"], ["멈춤", "멈춰", "먹통", "행", "굳어"]),
    term("barrier", ["barrier"], ["배리어", "베리어"]),
    term("collective", ["collective"], ["집합 통신", "콜렉티브"]),
    term("syncbn", ["SyncBatchNorm", "syncbatchnorm"], ["싱크배치놈"]),
    term("port", ["port"], ["포트"]),
    term("oom", ["out of memory", "oom"], ["메모리 부족"]),
    term("gpu", ["gpu", "card"], ["지피유", "그래픽 카드", "카드"]),
    term("checkpoint", ["checkpoint", "ckpt"], ["체크포인트", "체크 포인트"]),
)

IN_USE = signature(
    "torch.store.in-use",
    r"The server socket has failed to listen .*\(errno: 98 - Address already in use\)",
    "The server socket has failed to listen on [::]:29500 (errno: 98 - Address already in use)",
)
CLOSED = signature(
    "gloo.closed",
    r"Connection closed by peer \[(?P<host>[^\]]+)\]",
    "Connection closed by peer [127.0.0.1]:4242",
    role="collateral",
)


def catalogue() -> Catalogue:
    """Build the catalogue: six entries, two shared signatures, eight terms."""
    entries = (
        entry(
            "D1",
            ("Rank variables are not set", "랭크 변수가 설정되지 않음"),
            aliases=(["only one GPU is used"], ["GPU 한 장만 사용"]),
            symptoms=[("LOCAL_RANK is missing from the environment", "LOCAL_RANK가 환경에 없습니다")],
        ),
        entry(
            "D4",
            ("Port collision", "포트 충돌"),
            aliases=(["address already in use"], ["포트가 이미 사용 중"]),
            cited=[("torch.store.in-use", "usually")],
        ),
        entry(
            "D8",
            ("Unused parameters in DDP", "DDP에서 사용되지 않은 파라미터"),
            aliases=(["find_unused_parameters"], ["안 쓰는 파라미터"]),
        ),
        entry(
            "D10",
            ("SyncBatchNorm and buffers", "SyncBatchNorm과 버퍼"),
            symptoms=[("Running statistics differ between ranks", "이동 평균이 랭크마다 다릅니다")],
        ),
        entry(
            "D21",
            ("A collective in a branch of one rank", "한 랭크만 들어가는 분기 안의 집합 통신"),
            aliases=(["barrier on rank 0 only"], ["랭크 0에서만 배리어"]),
            symptoms=[("It hangs at the checkpoint save every time", "체크포인트 저장에서 매번 멈춥니다")],
            cited=[("gloo.closed", "often")],
        ),
        entry(
            "M1",
            ("Out of memory", "GPU 메모리 부족"),
            aliases=(["DeepSpeed does not fit on the card"], ["딥스피드가 카드에 안 올라감"]),
        ),
    )
    return Catalogue(
        entries=entries,
        signatures=(IN_USE, CLOSED),
        facts=(),
        findings=(),
        steps=(),
        terms=TERMS,
    )
