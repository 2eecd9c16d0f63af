"""Defines the rules of the e-graph, in egglog's language.

They are the equations of the project's own rules (``hlograph.rules``, ``Rule.equation``), as far as
terms can express them, and a few of XLA's simplifications without which patterns would not match.
Comments name the rules. An equation that is applied in both directions is written twice, since most
have conditions.

Rules of two patterns (``_MERGING``) match pairs anywhere in the program, whose number grows with
its square in each round. As in Tensat they run in the first rounds only (`k_multi`), and merge a
product only with one of the original program.
"""

from collections.abc import Iterator

from experiments.search.rewriting.egraph.terms import RANKS

SORTS = """
(sort Dims (Vec i64))
(sort T)
(sort Terms (Vec T))
(datatype Attributes (Plain i64 i64 i64) (Coded i64))
(constructor Op (i64 Terms) T)
(constructor Prod (Attributes T T) T)
(constructor Bin (String T T) T)
(constructor Un (String T) T)
(constructor Concat (i64 T T) T)
(constructor Slice (i64 i64 i64 T) T)
(constructor Bcast (T Dims Dims) T)
(constructor Transp (T Dims) T)
(constructor Reshape (T Dims) T)
(function dims (T) Dims :no-merge)
(function type (T) String :no-merge)
(relation zero (T))
(relation one (T))
(relation original (T i64))
(relation tuple (i64))
(relation element (i64 i64))
(relation linear (String))
(relation fixed (Attributes Dims))
(relation convolved (Attributes i64 i64 i64 i64 Dims))
(relation free-left (Attributes i64 i64))
(relation free-right (Attributes i64 i64))
(relation scaled-right (Attributes i64 i64))
(ruleset shapes)
(ruleset rewriting)
(ruleset merging)
(linear "add")
(linear "subtract")
"""
"""Declares terms. ``Plain`` is a dot of one contracted dimension each, by a matrix: the dimensions
and the left operand's rank. ``dims`` and ``type`` are functions: terms of different shapes cannot
be found equal. A dimension of an operand that is one of the result is free: ``free-left`` and
``free-right`` hold both; along ``scaled-right`` the result may be scaled instead of the operand."""

SHAPES = """
(rule ((= e (Bin o x y)) (= d (dims x))) ((set (dims e) d)) :ruleset shapes)
(rule ((= e (Bin o x y)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Un o x)) (= d (dims x))) ((set (dims e) d)) :ruleset shapes)
(rule ((= e (Un o x)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Bcast x p s))) ((set (dims e) s)) :ruleset shapes)
(rule ((= e (Bcast x p s)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Reshape x s))) ((set (dims e) s)) :ruleset shapes)
(rule ((= e (Reshape x s)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Transp x p)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Concat i x y)) (= a (dims x)) (= b (dims y)))
      ((set (dims e) (vec-set a i (+ (vec-get a i) (vec-get b i))))) :ruleset shapes)
(rule ((= e (Concat i x y)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Slice i b t x)) (= a (dims x))) ((set (dims e) (vec-set a i (- t b)))) :ruleset shapes)
(rule ((= e (Slice i b t x)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Prod k x y)) (= d (type x))) ((set (type e) d)) :ruleset shapes)
(rule ((= e (Prod (Plain l r n) x y)) (= a (dims x)) (= b (dims y)))
      ((set (dims e) (vec-append (vec-remove a l) (vec-remove b r)))) :ruleset shapes)
(rule ((= e (Prod k x y)) (fixed k s)) ((set (dims e) s)) :ruleset shapes)
(rule ((= e (Prod k x y)) (convolved k xb yo rb ro s) (= a (dims x)) (= b (dims y)))
      ((set (dims e) (vec-set (vec-set s rb (vec-get a xb)) ro (vec-get b yo)))) :ruleset shapes)
(rule ((= k (Plain l r n))) ((free-right k (- 1 r) (- n 1)) (scaled-right k (- 1 r) (- n 1)))
      :ruleset shapes)
"""
"""Computes the shapes of new terms, and the free dimensions of dots."""

_POINTWISE = """
; factor-products, both directions
(rule ((= e (Bin o (Bin "multiply" a c) (Bin "multiply" b c))) (linear o))
      ((union e (Bin "multiply" (Bin o a b) c))) :ruleset rewriting)
(rule ((= e (Bin "multiply" (Bin o a b) c)) (linear o))
      ((union e (Bin o (Bin "multiply" a c) (Bin "multiply" b c)))) :ruleset rewriting)
; commutativity, and associativity where it makes a broadcast
(rewrite (Bin "add" x y) (Bin "add" y x) :ruleset rewriting)
(rewrite (Bin "multiply" x y) (Bin "multiply" y x) :ruleset rewriting)
(rewrite (Bin "multiply" (Bin "multiply" x (Bcast s p d)) (Bcast t p d))
         (Bin "multiply" x (Bcast (Bin "multiply" s t) p d)) :ruleset rewriting)
(rewrite (Bin "add" (Bin "add" x (Bcast s p d)) (Bcast t p d))
         (Bin "add" x (Bcast (Bin "add" s t) p d)) :ruleset rewriting)
(rewrite (Bin "add" (Bin "subtract" x (Bcast s p d)) (Bcast t p d))
         (Bin "add" x (Bcast (Bin "subtract" t s) p d)) :ruleset rewriting)
; split-pointwise and join-pointwise
(rule ((= e (Bin o (Concat i a b) (Concat i c d))) (= s (dims a)) (= s (dims c)))
      ((union e (Concat i (Bin o a c) (Bin o b d)))) :ruleset rewriting)
(rewrite (Concat i (Bin o a c) (Bin o b d)) (Bin o (Concat i a b) (Concat i c d))
         :ruleset rewriting)
(rewrite (Un o (Concat i a b)) (Concat i (Un o a) (Un o b)) :ruleset rewriting)
(rewrite (Concat i (Un o a) (Un o b)) (Un o (Concat i a b)) :ruleset rewriting)
; rearrange-result and rearrange-operands
(rule ((= e (Bin o (Transp a p) (Transp b p))))
      ((union e (Transp (Bin o a b) p))) :ruleset rewriting)
(rewrite (Transp (Bin o a b) p) (Bin o (Transp a p) (Transp b p)) :ruleset rewriting)
(rule ((= e (Bin o (Reshape a s) (Reshape b s))) (= d (dims a)) (= d (dims b)))
      ((union e (Reshape (Bin o a b) s))) :ruleset rewriting)
(rewrite (Reshape (Bin o a b) s) (Bin o (Reshape a s) (Reshape b s)) :ruleset rewriting)
(rule ((= e (Bin o (Bcast a p s) (Bcast b p s))) (= d (dims a)) (= d (dims b)))
      ((union e (Bcast (Bin o a b) p s))) :ruleset rewriting)
(rewrite (Bcast (Bin o a b) p s) (Bin o (Bcast a p s) (Bcast b p s)) :ruleset rewriting)
(rewrite (Un o (Transp a p)) (Transp (Un o a) p) :ruleset rewriting)
(rewrite (Un o (Reshape a s)) (Reshape (Un o a) s) :ruleset rewriting)
(rewrite (Un o (Bcast a p s)) (Bcast (Un o a) p s) :ruleset rewriting)
"""

_PRODUCTS = """
; factor-dots, factor-convolutions, distribute-dot, distribute-convolution
(rule ((= e (Bin o (Prod k x w) (Prod k y w))) (linear o) (= d (dims x)) (= d (dims y)))
      ((union e (Prod k (Bin o x y) w))) :ruleset rewriting)
(rule ((= e (Bin o (Prod k x v) (Prod k x w))) (linear o) (= d (dims v)) (= d (dims w)))
      ((union e (Prod k x (Bin o v w)))) :ruleset rewriting)
(rule ((= e (Prod k (Bin o x y) w)) (linear o))
      ((union e (Bin o (Prod k x w) (Prod k y w)))) :ruleset rewriting)
(rule ((= e (Prod k x (Bin o v w))) (linear o))
      ((union e (Bin o (Prod k x v) (Prod k x w)))) :ruleset rewriting)
; scale-operand and scale-result, by one number
(rule ((= e (Bin "multiply" (Prod k x w) (Bcast s (vec-empty) d))) (= dw (dims w)) (= dx (dims x)))
      ((union e (Prod k x (Bin "multiply" w (Bcast s (vec-empty) dw))))
       (union e (Prod k (Bin "multiply" x (Bcast s (vec-empty) dx)) w))) :ruleset rewriting)
(rule ((= e (Prod k x (Bin "multiply" w (Bcast s (vec-empty) d)))) (= de (dims e)))
      ((union e (Bin "multiply" (Prod k x w) (Bcast s (vec-empty) de)))) :ruleset rewriting)
(rule ((= e (Prod k (Bin "multiply" x (Bcast s (vec-empty) d)) w)) (= de (dims e)))
      ((union e (Bin "multiply" (Prod k x w) (Bcast s (vec-empty) de)))) :ruleset rewriting)
; and by one number for each column, feature or row
(rule ((= e (Bin "multiply" (Prod k x w) (Bcast s (vec-of j) d))) (scaled-right k i j)
       (= dw (dims w)))
      ((union e (Prod k x (Bin "multiply" w (Bcast s (vec-of i) dw))))) :ruleset rewriting)
(rule ((= e (Prod k x (Bin "multiply" w (Bcast s (vec-of i) d)))) (scaled-right k i j)
       (= de (dims e)))
      ((union e (Bin "multiply" (Prod k x w) (Bcast s (vec-of j) de)))) :ruleset rewriting)
(rule ((= e (Bin "multiply" (Prod k x w) (Bcast s (vec-of j) d))) (free-left k i j)
       (= dx (dims x)))
      ((union e (Prod k (Bin "multiply" x (Bcast s (vec-of i) dx)) w))) :ruleset rewriting)
; split-dot, split-convolution, join-dots, join-convolutions
(rule ((= e (Prod k x (Concat i v w))) (free-right k i j))
      ((union e (Concat j (Prod k x v) (Prod k x w)))) :ruleset rewriting)
(rule ((= e (Concat j (Prod k x v) (Prod k x w))) (free-right k i j))
      ((union e (Prod k x (Concat i v w)))) :ruleset rewriting)
(rule ((= e (Prod k (Concat i x y) w)) (free-left k i j))
      ((union e (Concat j (Prod k x w) (Prod k y w)))) :ruleset rewriting)
(rule ((= e (Concat j (Prod k x w) (Prod k y w))) (free-left k i j))
      ((union e (Prod k (Concat i x y) w))) :ruleset rewriting)
; join-contractions, both directions
(rule ((= e (Bin "add" (Prod (Plain l r n) x v) (Prod (Plain l r n) y w))))
      ((union e (Prod (Plain l r n) (Concat l x y) (Concat r v w)))) :ruleset rewriting)
(rule ((= e (Prod (Plain l r n) (Concat l x y) (Concat r v w))) (= a (dims x)) (= b (dims v))
       (= (vec-get a l) (vec-get b r)))
      ((union e (Bin "add" (Prod (Plain l r n) x v) (Prod (Plain l r n) y w)))) :ruleset rewriting)
; reassociate-dots:right and :left
(rule ((= e (Prod (Plain m r2 n) (Prod (Plain l r1 n) x v) w)) (= m (- n 1)))
      ((union e (Prod (Plain l 0 n) x (Prod (Plain (- 1 r1) r2 2) v w)))) :ruleset rewriting)
(rule ((= e (Prod (Plain l 0 n) x (Prod (Plain c r2 2) v w))))
      ((union e (Prod (Plain (- n 1) r2 n) (Prod (Plain l (- 1 c) n) x v) w)))
      :ruleset rewriting)
; transpose-folding, and the transpose of a product
(rewrite (Prod (Plain l r 2) (Transp x (vec-of 1 0)) w) (Prod (Plain (- 1 l) r 2) x w)
         :ruleset rewriting)
(rewrite (Prod (Plain l r n) x (Transp w (vec-of 1 0))) (Prod (Plain l (- 1 r) n) x w)
         :ruleset rewriting)
(rewrite (Transp (Prod (Plain l r 2) x w) (vec-of 1 0)) (Prod (Plain r l 2) w x)
         :ruleset rewriting)
"""

_SIMPLIFICATIONS = """
; tuple-simplifier
(rule ((= e (Op g of)) (element g i) (= t (vec-get of 0)) (= t (Op n parts)) (tuple n))
      ((union e (vec-get parts i))) :ruleset rewriting)
; algebraic
(rule ((= e (Bin "add" x (Bcast z p s))) (zero z)) ((union e x)) :ruleset rewriting)
(rule ((= e (Bin "multiply" x (Bcast z p s))) (one z)) ((union e x)) :ruleset rewriting)
(rule ((= e (Reshape x s)) (= s (dims x))) ((union e x)) :ruleset rewriting)
(rewrite (Reshape (Reshape x s) t) (Reshape x t) :ruleset rewriting)
(rule ((= e (Slice i 0 t (Concat i x y))) (= d (dims x)) (= t (vec-get d i)))
      ((union e x)) :ruleset rewriting)
(rule ((= e (Slice i b t (Concat i x y))) (= d (dims x)) (= b (vec-get d i))
       (= f (dims y)) (= t (+ b (vec-get f i))))
      ((union e y)) :ruleset rewriting)
"""

_MERGING = """
; merge-dots:lhs, merge-convolutions:input
(rule ((= e (Prod k x v)) (= f (Prod k x w)) (free-right k i j)
       (original e a) (original f b) (< a b) (= dv (dims v)) (= dw (dims w))
       (= (vec-set dv i 0) (vec-set dw i 0)))
      ((let m (Prod k x (Concat i v w)))
       (let s (vec-get dv i))
       (union e (Slice j 0 s m))
       (union f (Slice j s (+ s (vec-get dw i)) m))
       (original m b)) :ruleset merging)
; merge-dots:rhs, merge-convolutions:kernel
(rule ((= e (Prod k x w)) (= f (Prod k y w)) (free-left k i j)
       (original e a) (original f b) (< a b) (= dx (dims x)) (= dy (dims y))
       (= (vec-set dx i 0) (vec-set dy i 0)))
      ((let m (Prod k (Concat i x y) w))
       (let s (vec-get dx i))
       (union e (Slice j 0 s m))
       (union f (Slice j s (+ s (vec-get dy i)) m))
       (original m b)) :ruleset merging)
"""


def _by_rank() -> Iterator[str]:
    """Yields rules for each rank, since egglog cannot map over vectors."""
    for rank in RANKS:
        numbers = " ".join(map(str, range(rank)))
        picked = " ".join(f"(vec-get d (vec-get p {n}))" for n in range(rank))
        yield (
            f"(rule ((= e (Transp x p)) (= d (dims x)) (= {rank} (vec-length p)))"
            f" ((set (dims e) (vec-of {picked}))) :ruleset shapes)"
        )
        twice = " ".join(f"(vec-get p (vec-get q {n}))" for n in range(rank))
        yield (
            f"(rule ((= e (Transp (Transp x p) q)) (= {rank} (vec-length p)))"
            f" ((union e (Transp x (vec-of {twice})))) :ruleset rewriting)"
        )
        yield f"(rewrite (Transp x (vec-of {numbers})) x :ruleset rewriting)"
        yield (
            f"(rule ((= e (Bcast x (vec-of {numbers}) s)) (= s (dims x))) ((union e x))"
            " :ruleset rewriting)"
        )
        # Rows of a left operand of this rank whose last dimension is contracted.
        free = " ".join(f"(free-left k {n} {n})" for n in range(rank - 1))
        if free:
            yield f"(rule ((= k (Plain {rank - 1} r {rank}))) ({free}) :ruleset shapes)"
    yield "(rule ((= k (Plain 0 r 2))) ((free-left k 1 0)) :ruleset shapes)"


PROGRAM = "\n".join([SORTS, SHAPES, _POINTWISE, _PRODUCTS, _SIMPLIFICATIONS, _MERGING, *_by_rank()])
"""All declarations and rules."""
EXPRESSED = (
    *(f"merge-dots:{side}" for side in ("lhs", "rhs")),
    *(f"merge-convolutions:{side}" for side in ("input", "kernel")),
    *(f"{verb}-{what}" for verb in ("split", "distribute") for what in ("dot", "convolution")),
    *(f"{verb}-{what}" for verb in ("join", "factor") for what in ("dots", "convolutions")),
    *(f"scale-{what}:{of}" for what in ("operand", "result") for of in ("dot", "convolution")),
    *(f"reassociate-dots:{side}" for side in ("right", "left")),
    "join-contractions",
    "factor-products",
    "split-pointwise",
    "join-pointwise",
    "rearrange-result",
    "rearrange-operands",
)
"""Names of the project's rules whose equation is among the rules of the e-graph."""
