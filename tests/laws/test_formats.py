"""The table of file formats: whatever reads files takes names, endings and delimiters from it."""

import pytest

import likelier as lk
from likelier.cli import parser
from likelier.data.files.scan import READERS, find
from likelier.streams.formats import FORMATS, scanned
from likelier.streams.reader import format_of

every_format = pytest.mark.parametrize("name", FORMATS)


@every_format
def test_every_format_has_a_reader(name):
    kind = FORMATS[name]
    assert kind.scanned or kind.parser, "nobody reads it"
    if kind.scanned:
        assert (name in READERS) != kind.sparse


def test_an_ending_is_that_of_one_format():
    endings = [ending for kind in FORMATS.values() for ending in kind.endings]
    assert len(set(endings)) == len(endings)


@every_format
def test_files_are_known_by_their_endings_to_scans_and_streams(name, tmp_path):
    kind = FORMATS[name]
    for ending in kind.endings:
        path = tmp_path / f"rows{ending}"
        path.write_bytes(b"")
        if kind.scanned:
            assert find(path, None) == ([str(path)], name)
        if kind.parser is not None:
            line = (kind.delimiter or ",").join("ab").encode()
            assert format_of(path.name, line) == (kind.parser, kind.delimiter or ",")
            assert format_of(f"{path.name}.gz", line) == (kind.parser, kind.delimiter or ",")


def test_the_command_line_offers_what_can_be_read():
    commands = parser().commands
    for command, known in (("train", scanned()), ("predict", scanned()), ("stream", FORMATS)):
        (offered,) = (action.choices for action in commands[command].options if action.dest == "format")
        assert set(offered) == set(known)


def test_a_format_that_is_not_in_the_table_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=f"format must be one of {', '.join(map(repr, scanned()))}; got 'feather'"
    ):
        lk.scan(tmp_path, format="feather")
