"""The smallest part of a program that shows a fault."""

import jax
import jax.numpy as jnp
import pytest

from hlograph.comparing.evidence import smallest_part
from hlograph.plans import Program
from hlograph.plans.jaxlib_modules import text_of
from hlograph.plans.known_faults import faults_of
from hlograph.reading.hlo_text import read_instructions
from tests.hlograph.faulty_programs import negative_padding


def test_what_comes_before_and_after_the_fault_is_left_out():
    function, arguments, _ = negative_padding()

    def longer(image, kernel):
        return jnp.exp(-function(jnp.sin(image), kernel)), jnp.cos(kernel)

    program = Program.of(jax.jit(longer).lower(*arguments))
    if not faults_of(program.flow):
        pytest.skip("a later jaxlib has mended it")
    part = smallest_part(program, "differs")
    opcodes = [each.opcode for each in read_instructions(text_of(part.hlo))]
    assert sorted(opcodes) == ["convolution", "parameter", "parameter"]


def test_a_program_without_the_fault_stays_as_it_is():
    program = Program.of(jax.jit(jnp.tanh).lower(jnp.ones(4)))
    assert smallest_part(program, "differs", seconds=0.0) is program
