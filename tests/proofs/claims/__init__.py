"""The claims of the rules, by topic."""

from tests.proofs.claims import algebra

MODULES = (algebra,)
