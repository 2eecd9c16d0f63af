"""Licences of the libraries whose code was lowered, as their distributions state them."""

from __future__ import annotations

_APACHE = (
    *("blackjax", "brax", "diffrax", "distrax", "dm-haiku", "e3nn-jax", "equinox", "evosax"),
    *("flax", "jax", "jax-md", "jaxopt", "jraph", "keras", "keras-hub", "lineax", "mujoco-mjx"),
    *("numpyro", "optax", "optimistix", "ott-jax", "rlax", "transformers"),
)

LICENCES = {**dict.fromkeys(_APACHE, "Apache-2.0"), "gpjax": "MIT", "tinygp": "MIT"}
"""Licence by distribution name; a library that is missing here cannot enter the datasheet."""
