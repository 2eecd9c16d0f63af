"""Equality of modules by evaluation over finite fields, as in Mirage (Wu et al., OSDI 2025).

A module whose floating-point arithmetic is add, subtract, multiply and divide computes rational
functions of its parameters. Two modules that compute the same rational functions agree at every
point of every field. Two that do not agree at a random point modulo a prime p with a probability of
at most their degree over p (Schwartz 1980, Zippel 1979). So both modules are evaluated at the same
random points modulo two primes near 2**30, and the bound on a wrong "equal" is stated with it.

What is no arithmetic is treated as follows.

- **Other functions** (exp, tanh, floor, ...) are uninterpreted: their results are random residues
  that depend on the name of the function and on the residues of its arguments. Modules that are
  equal so are equal whatever the functions compute. Two different arguments have the same residue
  with the probability above, which is counted for each pair of applications.
- **Order** (compare, maximum, sort, top-k) is a random order of the residues. Squares are positive,
  so products have the signs of reals and x < y if and only if -y < -x; dyadic numbers up to 1024
  have their own order. Sums of positive numbers may be negative, so a rule for which this order
  decides claims nothing of sums. Each draw tries one order: to this part the bound does not apply.
- **Bits** of 32-bit floats (bitcast-convert) are patterns of sign and magnitude, in the order of
  IEEE 754. Infinities and NaN are patterns beyond all residues; arithmetic on them is
  uninterpreted. Bits of other types leave a module undecided.
- **Integers and predicates** are computed exactly, in their width, from drawn parameters. To them
  the bound does not apply either.
- **Complex numbers** are elements of the field, too: sums and products of any commutative ring
  obey the identities of polynomials. Their parts are uninterpreted functions.
- **Literals** stand for the simplest fraction that rounds to them, so 0.33333334 is a third.

Modules that differ so are compared again, by the laws of what they have: in ``SumField`` sums of
positive numbers are positive, in ``RootField`` positive numbers have roots and dyadic powers, in
``AngleField`` sines and cosines are those of sums. A conditional that a rule adds is a choice
between two ways to compute the same, so each of its branches is compared.

What holds is stated for reals: no rounding, no overflow, no NaN but those that are written. A rule
is proved for the drawn shapes, not for all.
"""
