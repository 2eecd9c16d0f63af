"""Keys of sorts are ordered as what they stand for: proofs for all bits, and refuted variants."""

import pytest

from tests.proofs.floats.keys import KEYS, claims, key_pairs, refuted

# Half precision and 8 bits here; the campaign proves all types.
CASES = [
    (rule, element_type)
    for rule, (types, _) in KEYS.items()
    for element_type in types
    if element_type in ("bf16", "u8") or types == ("f32",)
]


@pytest.mark.parametrize(("rule", "element_type"), CASES)
def test_keys_are_ordered_as_the_elements_for_all_bits(rule, element_type):
    for pair in key_pairs(rule, element_type):
        assert "order" in {name for name, _ in claims(pair)}
        assert not refuted(pair)
        assert not refuted(pair, flush=True)


# Rule, type, what is replaced once in the module after the rule, and the claim that does not hold.
# The first program of a rule has the comparator of JAX, the second XLA's total order.
WRONG = {
    "bits of negative floats are not inverted": (
        ("sort-by-integer-keys", "bf16", 0, "order"),
        ("select(compare, subtract, ", "select(compare, bitcast-convert, "),
    ),
    "the greatest magnitude is one less": (
        ("sort-by-integer-keys", "f32", 0, "round trip"),
        ("constant(2147483647)", "constant(2147483646)"),
    ),
    "NaNs are sorted by their sign": (
        ("sort-by-packed-keys", "bf16", 0, "order"),
        ("direction=NE", "direction=GT"),
    ),
    "a NaN comes before infinity": (
        ("sort-by-packed-keys", "f32", 0, "order"),
        ("constant(2143289344)", "constant(2139095039)"),
    ),
    "zeros of two signs differ": (
        ("sort-by-packed-keys", "f16", 0, "order"),
        ("direction=EQ", "direction=GT"),
    ),
    "keys of the total order that take zeros for equal": (
        ("sort-by-integer-keys", "bf16", 1, "order"),
        ("constant(0)", "constant(-1)"),
    ),
    "keys that overlap the positions": (
        ("sort-by-packed-keys", "s32", 0, "order"),
        ("constant(32)", "constant(29)"),
    ),
    "a key from the wrong bits": (
        ("top-k-by-packed-keys", "s32", 0, "round trip"),
        ("shift-right-arithmetic(", "shift-left("),
    ),
    "unsigned integers without an offset": (
        ("sort-by-packed-keys", "u16", 0, "order"),
        ("constant(-32768)", "constant(0)"),
    ),
    "the greatest instead of the least": (
        ("sort-prefix-as-top-k", "s16", 0, "order"),
        (" not(", " copy("),
    ),
    "the last of equal elements first": (
        ("top-k-by-packed-keys", "f32", 0, "order"),
        ("or(shift-left, iota)", "subtract(shift-left, iota)"),
    ),
    "floats by the bits of integers": (
        ("top-k-by-float-keys", "s32", 0, "order"),
        ("direction=LT", "direction=EQ"),
    ),
    "padding that is not the least": (
        ("top-k-of-groups", "f32", 0, "padding"),
        ("constant(-2147483648)", "constant(-8388609)"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_key_is_refuted(name):
    (rule, element_type, number, claim), (old, new) = WRONG[name]
    pair = list(key_pairs(rule, element_type))[number]
    text = pair.after.to_text()
    assert old in text, text
    found = refuted(pair.with_after(text.replace(old, new, 1)))
    assert found.startswith(claim), found
