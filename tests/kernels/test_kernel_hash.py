"""The hash of names and values: the bits that models in files rely on, and that they are well mixed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.hashing import cross_key, hash_of, name_key, parsed, rows_of, word_key


def test_keys_never_change(core):
    """Models in files hold weights under these."""
    assert core.key_of("", None) == 0x4B24D35CBA4A63B0
    assert core.key_of("0", None) == 0xE8835FC2A9AEDE00
    assert core.key_of("age", None) == 0x1087D41584DFF260
    assert core.key_of("a name of more than sixteen bytes", None) == 0x4B96DB400294DD98
    assert core.key_of("colour", "red") == 0x77E724B2F58A062C
    assert core.key_of("größe", "übergroß") == 0x13DD088B28815A22


@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_keys_are_those_of_the_formula(core, name, word):
    assert core.key_of(name, word) == (name_key(name) if word is None else word_key(name, word))


def test_every_length_is_hashed_as_the_formula_says_within_a_block_too(core):
    """There whole words are read, past the end of the cell."""
    words = ["x" * n + "yz" for n in range(70)]
    parser = core.TextParser("csv", header=False, words=["0", "1"])
    text = "".join(f"{w},{w[::-1]}\n" for w in words).encode()
    expected = [[(word_key("0", w), 1.0), (word_key("1", w[::-1]), 1.0)] for w in words]
    assert [cells for cells, _, _ in parsed(core, parser, text)] == expected


def test_crosses_are_of_two_keys_in_order(core):
    rows = core.HashedRows()
    core.TextParser("csv", crosses=[("a", "b"), ("b", "a")], words=["a", "b"]).parse(
        b"a,b\nu,v\n", rows, True
    )
    a, b = word_key("a", "u"), word_key("b", "v")
    expected = [(key, 1.0) for key in (a, b, cross_key(a, b), cross_key(b, a))]
    assert rows_of(core, rows) == [(expected, -1, 1.0)]


def names(n: int) -> list[bytes]:
    """Like those of real columns: counted, alike but for a byte, words of numbers."""
    return [
        form % i
        for i in range(n)
        for form in (b"%d", b"user_%07d", b"%08x", b"item-%d-of-a-long-catalogue")
    ]


def test_the_low_bits_collide_as_those_of_random_numbers_do():
    keys = np.array([hash_of(name, 12345) for name in names(20_000)], dtype=np.uint64)
    n = len(keys)
    assert len(np.unique(keys)) == n
    for bits in (18, 22):
        for shift in (0, 64 - bits):
            used = len(np.unique((keys >> np.uint64(shift)) & np.uint64(2**bits - 1)))
            expected = 2**bits * -np.expm1(n * np.log1p(-(2.0**-bits)))
            assert abs(used - expected) < 6 * np.sqrt(expected / 4)


def test_each_bit_of_a_name_turns_half_of_the_bits_of_its_key():
    rng = np.random.default_rng(0)
    for length in (1, 3, 8, 9, 16, 17, 30):
        turned = np.zeros(64)
        trials = 0
        for _ in range(200):
            name, seed = rng.bytes(length), int(rng.integers(2**63))
            bit = int(rng.integers(8 * length))
            other = (int.from_bytes(name, "little") ^ (1 << bit)).to_bytes(length, "little")
            changed = hash_of(name, seed) ^ hash_of(other, seed)
            turned += [changed >> k & 1 for k in range(64)]
            trials += 1
        assert np.abs(turned / trials - 0.5).max() < 5 * np.sqrt(0.25 / trials)
