"""Proofs of what the rules of hlograph claim: by SMT, over finite fields, and for floats."""
