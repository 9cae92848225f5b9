"""Tokens: random, shown once, kept as hashes, compared in constant time."""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Collection
from pathlib import Path

SCOPES = ("predict", "learn", "admin")
BYTES = 32  # of randomness: too many to guess, so that a plain hash is enough


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def make(path: Path, scopes: Collection[str], name: str) -> str:
    """A new token, whose hash is added to a file that its owner alone may read."""
    unknown = set(scopes) - set(SCOPES)
    if unknown or not scopes:
        raise ValueError(f"--scopes must be some of {', '.join(SCOPES)}; got {', '.join(scopes)!r}.")
    known = _read(path) if path.exists() else []
    if any(entry["name"] == name for entry in known):
        raise ValueError(f"{path} has a token named {name!r} already: give it another --name")
    token = f"lk_{secrets.token_urlsafe(BYTES)}"
    known.append({"name": name, "scopes": sorted(scopes), "sha256": digest(token)})
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({"tokens": known}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    return token


def _read(path: Path) -> list[dict[str, object]]:
    try:
        entries = json.loads(path.read_text())["tokens"]
        good = all(
            isinstance(entry["name"], str)
            and len(bytes.fromhex(entry["sha256"])) == 32
            and set(entry["scopes"]) <= set(SCOPES)
            for entry in entries
        )
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise ValueError(f"{path} is not a file of tokens: make one with likelier token")
    return list(entries)


class Tokens:
    """The tokens of a server; without any, requests need none."""

    def __init__(self, entries: Collection[tuple[str, frozenset[str]]] = ()) -> None:
        self._entries = [(bytes.fromhex(sha), scopes) for sha, scopes in entries]

    @classmethod
    def of(cls, path: Path) -> "Tokens":
        """Those of a file."""
        entries = [(str(e["sha256"]), frozenset(map(str, e["scopes"]))) for e in _read(path)]  # type: ignore[call-overload]
        if not entries:
            raise ValueError(f"{path} has no tokens: make one with likelier token")
        return cls(entries)

    def __bool__(self) -> bool:
        return bool(self._entries)

    def scopes(self, header: bytes) -> frozenset[str] | None:
        """What the token of an Authorization header is for; None: it is not one of these.

        All hashes are compared, each in constant time: how long it takes does not say which is close.
        """
        kind, _, token = header.partition(b" ")
        asked = hashlib.sha256(token.strip()).digest()
        found: frozenset[str] | None = None
        for sha, scopes in self._entries:
            if hmac.compare_digest(sha, asked):
                found = scopes
        return found if kind.lower() == b"bearer" else None
