"""A file of frames, one after another, written anew as a whole whenever some are added."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from likelier.storing.disk import place_for, replacing, require

BLOCK = 1 << 20
LENGTH, DIGEST = 8, 32  # bytes that say how long a frame is; of the checksum of all, at the end


class Frames:
    """Pieces of bytes under one name: all of them or, whatever fails, those that were there before."""

    def __init__(self, path: Path, magic: bytes) -> None:
        self.path, self.magic = place_for(path), magic
        self._ends = [len(magic)]  # of the magic, then of each frame
        self._mine = self._there()  # what is under the name, if nobody else puts anything there
        if self._mine is not None:
            self._open()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, i: int) -> bytes:
        self._check_mine()
        with self.path.open("rb") as file:
            file.seek(self._ends[i] + LENGTH)
            return file.read(self._ends[i + 1] - self._ends[i] - LENGTH)

    def rewrite(self, keep: int, more: Sequence[bytes]) -> None:
        """The first `keep` frames, then these."""
        self._check_mine()
        total, ends = hashlib.sha256(), self._ends[: keep + 1]
        with replacing(self.path) as file:

            def put(content: bytes) -> None:
                file.write(content)
                total.update(content)

            if keep:
                with self.path.open("rb") as old:
                    _each_block(old, ends[-1], put)
            else:
                put(self.magic)
            for frame in more:
                put(len(frame).to_bytes(LENGTH, "little"))
                put(frame)
                ends.append(ends[-1] + LENGTH + len(frame))
            file.write(total.digest())
        self._ends, self._mine = ends, self._there()

    def remove(self) -> None:
        """They are no longer needed; what somebody else has put in their place may be."""
        if self._there() == self._mine:
            self.path.unlink(missing_ok=True)

    def _there(self) -> tuple[int, ...] | None:
        """What tells one file of this name from another; None: there is none."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _check_mine(self) -> None:
        if self._there() != self._mine:
            raise OSError(
                f"{self.path} was written or removed meanwhile: another process uses it, too. Name a file "
                "of its own for each."
            )

    def _open(self) -> None:
        """Where the frames are. A file that is not as it was written is refused as a whole."""
        length, total = self.path.stat().st_size, hashlib.sha256()
        with self.path.open("rb") as file:
            require(file.read(len(self.magic)) == self.magic, "it does not begin as one")
            file.seek(0)
            _each_block(file, max(0, length - DIGEST), total.update)
            require(file.read() == total.digest(), "it is cut short or was changed: its checksum differs")
            while self._ends[-1] < length - DIGEST:
                file.seek(self._ends[-1])
                self._ends.append(self._ends[-1] + LENGTH + int.from_bytes(file.read(LENGTH), "little"))
        require(self._ends[-1] == length - DIGEST, "its frames do not fit into it")


def _each_block(file: IO[bytes], left: int, take: Callable[[bytes], object]) -> None:
    while left and (block := file.read(min(left, BLOCK))):
        take(block)
        left -= len(block)
