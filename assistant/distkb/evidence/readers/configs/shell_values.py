"""What the variables of a shell script hold, as far as its text tells, and what a word becomes with them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

import msgspec

from distkb.evidence.readers.configs.shell_words import Word, WordPart

_REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)\}|\{(\w+)\[([@*]|\d{1,4})\]\})")
_ALL = ("$@", "$*")
_NAME_IN = re.compile(r"\$?\{?\b([A-Za-z_]\w*)\b\}?")
_MAX_PIECES = 200
_MAX_TEXT = 20_000
_MAX_SUM = 200


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """What a name was given."""

    name: str
    words: tuple[Word, ...] | None
    """None where that depends on how the script runs."""
    line: int
    exported: bool = False
    is_array: bool = False


class Values:
    """The variables at one moment of a script."""

    def __init__(self) -> None:
        self.known: dict[str, Variable] = {}
        self.exports_all = False
        self.lost: set[str] = set()
        """Variables of the shell outside that were not exported to this one."""
        self.slurm: Mapping[str, int] = {}
        """What Slurm will say of the size of the job."""

    def copy(self) -> Values:
        """Return the same variables, to be changed for one command."""
        new = Values()
        new.known, new.exports_all, new.lost, new.slurm = dict(self.known), self.exports_all, self.lost, self.slurm
        return new

    def child(self, elsewhere: bool) -> Values:
        """Return what a command sees that is started from here; on another machine it sees nothing."""
        new = Values()
        new.slurm = self.slurm
        if not elsewhere:
            new.known = {name: v for name, v in self.known.items() if v.exported or self.exports_all}
            new.lost = {name for name, v in self.known.items() if name not in new.known and not v.is_array} | self.lost
        return new

    def given(self, export: str) -> None:
        """Take note of what `srun --export` names."""
        for part in export.split(","):
            self.lost.discard(part.partition("=")[0])

    def takes(self, words: Sequence[Word], line: int) -> None:
        """Give a script its arguments: `$1` and the others, and all of them as `$@`."""
        self.known["@"] = Variable(name="@", words=tuple(words), line=line, is_array=True)
        for number, word in enumerate(words[:9], 1):
            self.known[str(number)] = Variable(name=str(number), words=(word,), line=line, is_array=True)

    def forget(self, name: str, *, unset: bool = False) -> None:
        """What a name holds is not known from here on."""
        self.lost.discard(name)
        if unset:
            self.known.pop(name, None)
        else:
            old = self.known.get(name)
            self.known[name] = Variable(name=name, words=None, line=0, exported=old is not None and old.exported)

    def export(self, name: str) -> None:
        """Let the commands see a variable."""
        if name in self.known:
            self.known[name] = msgspec.structs.replace(self.known[name], exported=True)

    def assign(self, name: str, word: Word, scope: str, *, more: bool, exported: bool | None, sure: bool) -> Variable:
        """Give a name what a word becomes; `sure` is False inside a condition or a loop."""
        old = self.known.get(name)
        items = word.items if word.items is not None else (word,)
        joined = [new for item in items for new in self.expand(item, scope, splits=word.items is not None)]
        words: tuple[Word, ...] | None = tuple(joined) or (msgspec.structs.replace(word, pieces=()),)
        if more and old is not None:
            words = None if old.words is None or words is None else self._longer(old, words, word)
        size = sum(len(piece.text) for item in words or () for piece in item.pieces)
        if not sure or size > _MAX_TEXT or sum(len(item.pieces) for item in words or ()) > _MAX_PIECES:
            words = None
        is_exported = bool(exported) if exported is not None else self.exports_all or (old is not None and old.exported)
        variable = Variable(
            name=name, words=words, line=word.line, exported=is_exported, is_array=word.items is not None
        )
        self.known[name] = variable
        self.lost.discard(name)
        return variable

    @staticmethod
    def _longer(old: Variable, words: tuple[Word, ...], word: Word) -> tuple[Word, ...]:
        if old.words is None:
            return words
        if word.items is not None:
            return (*old.words, *words)
        pieces = tuple(p for one in (*old.words[:1], *words[:1]) for p in one.pieces)
        return (msgspec.structs.replace(old.words[0], pieces=pieces),)

    def put_in(self, piece: WordPart, scope: str) -> tuple[WordPart, ...]:
        """Return what a shell puts in place of an expansion in quotes, as far as that is known."""
        words = self._put_in(piece, scope)
        return tuple(p for word in words for p in word.pieces) if words else ()

    def expand(self, word: Word, scope: str, *, splits: bool = True) -> list[Word]:
        """Return the words that a word becomes: none, one, or several."""
        if word.items is not None or word.is_plain:
            return [word]
        done: list[Word] = []
        current: list[WordPart] = []
        for piece in word.pieces:
            if not piece.expands:
                current.append(piece)
                continue
            new = self._put_in(piece, scope)
            if splits and not piece.quoted:
                new = [part for one in new for part in _split(one)]
            elif not _is_list(piece):
                new = [_joined(new)] if new else []
            for index, one in enumerate(new):
                if index:
                    done.append(Word(pieces=tuple(current), line=_line(current, word)))
                    current = []
                current += one.pieces
        if current or any(not p.expands for p in word.pieces):
            done.append(Word(pieces=tuple(current), line=_line(current, word)))
        return done

    def _put_in(self, piece: WordPart, scope: str) -> list[Word]:
        """Return the words that stand in place of an expansion; the expansion itself where they are not known."""
        if piece.scope:
            return [Word(pieces=(piece,), line=piece.line)]
        itself = msgspec.structs.replace(piece, scope=scope)
        unknown = [Word(pieces=(itself,), line=piece.line)]
        if piece.text.startswith("$((") and piece.text.endswith("))"):
            number = self.sum(piece.text[3:-2])
            stands = (WordPart(text=str(number), line=piece.line),) if number is not None else ()
            return [Word(pieces=(msgspec.structs.replace(itself, stands_for=stands),), line=piece.line)]
        found = _REFERENCE.fullmatch(piece.text)
        name = "@" if piece.text in _ALL else "" if found is None else found[1] or found[2] or found[3]
        if name in self.slurm and name not in self.known:
            stands = (WordPart(text=str(self.slurm[name]), line=piece.line),)
            return [Word(pieces=(msgspec.structs.replace(itself, stands_for=stands),), line=piece.line)]
        variable = self.known.get(name)
        if variable is None or variable.words is None:
            lost = found is not None and name in self.lost
            return [Word(pieces=(msgspec.structs.replace(itself, lost=lost),), line=piece.line)] if lost else unknown
        words = list(variable.words)
        if not _is_list(piece):
            at = int(found[4] or 0) if found is not None else 0
            words = words[at : at + 1]
        quoted = [
            msgspec.structs.replace(
                word, pieces=tuple(p if p.expands else msgspec.structs.replace(p, quoted=True) for p in word.pieces)
            )
            for word in words
        ]
        if any(_is_known(word) for word in words) or _is_list(piece) or not words:
            return quoted
        return [Word(pieces=(msgspec.structs.replace(itself, stands_for=words[0].pieces),), line=piece.line)]

    def sum(self, text: str) -> int | None:
        """Return what `$((…))` comes to, where all its names are known."""
        if len(text) > _MAX_SUM:
            return None
        unknown = False

        def number(found: re.Match[str]) -> str:
            nonlocal unknown
            value = self.number(found[1])
            unknown = unknown or value is None
            return str(value)

        filled = _NAME_IN.sub(number, text)
        if unknown:
            return None
        try:
            return _calculated(ast.parse(filled.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError, ZeroDivisionError):
            return None

    def number(self, name: str) -> int | None:
        """Return the number that a variable holds."""
        variable = self.known.get(name)
        if variable is None:
            return self.slurm.get(name)
        return amount(variable.words[0]) if variable.words is not None and len(variable.words) == 1 else None


def amount(word: Word) -> int | None:
    """Return the number that a word comes to, if it is one."""
    pieces: list[WordPart] = list(word.pieces)
    for _ in range(8):
        if not any(piece.expands for piece in pieces):
            break
        if any(piece.expands and not piece.stands_for for piece in pieces):
            return None
        pieces = [inner for piece in pieces for inner in (piece.stands_for if piece.expands else (piece,))]
    text = "".join(piece.text for piece in pieces)
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else None


def _calculated(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _calculated(node.left), _calculated(node.right)
    if left is None or right is None or max(abs(left), abs(right)) > 1 << 40:
        return None
    if isinstance(node.op, ast.Add | ast.Sub):
        return left + right if isinstance(node.op, ast.Add) else left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    return left // right if isinstance(node.op, ast.Div) and right else None


def _is_list(piece: WordPart) -> bool:
    return piece.text.endswith(("[@]}", "[*]}")) or piece.text in _ALL


def _is_known(word: Word) -> bool:
    """Whether a value takes the place of its name: it is plain, or made of several words."""
    return word.is_plain or any(not p.expands and any(map(str.isspace, p.text)) for p in word.pieces)


def _joined(words: Sequence[Word]) -> Word:
    return Word(pieces=tuple(p for word in words for p in word.pieces), line=words[0].line)


def _split(word: Word) -> list[Word]:
    """Split what an expansion without quotes puts in, as a shell does at blanks."""
    done: list[Word] = []
    current: list[WordPart] = []
    for piece in word.pieces:
        if piece.expands:
            current.append(piece)
            continue
        for part in re.findall(r"\s+|\S+", piece.text):
            if not part.isspace():
                current.append(msgspec.structs.replace(piece, text=part))
            elif current:
                done.append(Word(pieces=tuple(current), line=current[0].line))
                current = []
    if current:
        done.append(Word(pieces=tuple(current), line=current[0].line))
    return done


def _line(pieces: Sequence[WordPart], word: Word) -> int:
    return pieces[0].line if pieces else word.line
