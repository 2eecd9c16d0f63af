"""Imports what the worker processes of a search need, in the server that they are forked from.

Without it each of them would import jax and the parts of hlograph by itself. No client of jax may
be made here: it has threads, which a fork does not have.
"""

import jax.extend.backend
import jaxlib.lapack
import jaxlib.mlir.dialects.builtin
import jaxlib.mlir.dialects.mhlo
import jaxlib.xla_client

import hlograph.measuring.implementation_worker
import hlograph.measuring.worker
import hlograph.optimization.methods.forms
import hlograph.optimization.program_space

__all__ = ["hlograph", "jax", "jaxlib"]
