"""The vocabularies equal those of the linked XLA."""

from hlograph._native import native
from hlograph.graph.vocabulary import ATTRIBUTES, ELEMENT_TYPES, OPCODES, TEXT_ATTRIBUTES


def test_vocabularies_match_the_extension():
    assert list(OPCODES) == native().opcodes()
    assert list(ELEMENT_TYPES) == native().element_types()
    assert list(ATTRIBUTES) == native().attribute_names()


def test_text_attributes_are_attributes():
    assert set(ATTRIBUTES) >= TEXT_ATTRIBUTES
