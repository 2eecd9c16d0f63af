"""Benchmarks to train on and to be measured by, how they are chosen, and their references."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain, zip_longest
from pathlib import Path

import hlograph
from hlograph import corpus
from hlograph.corpus.shipped import CorpusSet, Split
from hlograph.decisions.benchmarks import resolve_benchmarks
from hlograph.storage.locations import absolute, as_location, is_file, is_url

REFERENCES = ("xla-cpu", "xla-simplify")
"""Reference pipelines whose op counts the corpus has."""
ALL_REFERENCES = (*REFERENCES, "xla-cpu-unexpanded", "hlograph-simplify")
"""Reference pipelines that results are compared with when there is time to run them."""


@dataclass(frozen=True)
class Reference:
    """Op counts of one benchmark, at the start and after reference pipelines."""

    start: int
    after: dict[str, int]
    """Op count after each reference pipeline, by the pipeline's name."""
    calls: dict[str, int] = field(default_factory=dict, compare=False)
    """Number of pass calls, by pipeline that was run."""
    seconds: dict[str, float] = field(default_factory=dict, compare=False)
    """Wall time, by pipeline that was run."""


def load(name: str) -> hlograph.Module:
    """Returns a fresh module of a benchmark, by corpus name or path."""
    # A clone: the environments of this process share the module itself.
    return resolve_benchmarks(name)[0].load().clone()


def training_benchmarks(
    patterns: Sequence[str], op_limit: int, corpus_set: CorpusSet | None = None
) -> list[str]:
    """Returns the names of benchmarks to train on.

    Args:
        patterns: Names, globs over names of the corpus, paths or URLs of files, or folders as
            ``hlograph.corpus.from_folder`` takes them; none is the train split.
        op_limit: Benchmarks of the corpus with more instructions are left out; a file is
            taken whatever its size.
        corpus_set: The set whose train split is taken without patterns; None is all but ``speed``.
            Patterns select from all sets but ``speed``, or from ``speed`` alone.

    Raises:
        ValueError: A pattern matches nothing, or nothing is left.
    """
    if not patterns:
        names = corpus.load(corpus_set, "train", max_op_count=op_limit).names
    else:
        everything = corpus.load("speed" if corpus_set == "speed" else None)
        names = []
        for pattern in patterns:
            matched = [b for b in everything if fnmatchcase(b.name, pattern)]
            if matched:
                names += [b.name for b in matched if b.op_count <= op_limit]
            elif own := own_modules(pattern):
                names += own
            else:
                raise ValueError(
                    f"{pattern!r} is no benchmark, no glob that matches one, no file or folder; "
                    f"benchmarks are named like {everything[0].name!r}"
                )
    if not names:
        raise ValueError(f"no training benchmark has at most {op_limit} instructions")
    return list(dict.fromkeys(names))


def own_modules(pattern: str) -> list[str]:
    """Returns the locations of the modules in a file, in a folder or at a URL.

    Raises:
        HloError: A folder or URL holds no modules.
    """
    location = absolute(as_location(pattern))
    if is_file(location):
        return [str(location)]
    if is_url(location) or Path(location).is_dir():
        return [str(benchmark.source) for benchmark in corpus.from_folder(location)]
    return []


def held_out_benchmarks(
    op_limit: int,
    count: int | None = None,
    corpus_set: CorpusSet | None = None,
    split: Split | None = None,
) -> list[str]:
    """Returns benchmarks that no policy was trained on, by default of families never trained on.

    Args:
        op_limit: Those with more instructions are left out.
        count: Largest number, evenly over families, with sizes spread in each; None is all.
        corpus_set: Set of the corpus; None is all but speed.
        split: Split of the corpus; None is ``test-unseen``, or ``test`` in the set ``speed``.
    """
    split = split or ("test" if corpus_set == "speed" else "test-unseen")
    return spread_over_families(corpus.load(corpus_set, split, max_op_count=op_limit), count)


def spread_over_families(benchmarks: Iterable[corpus.Benchmark], count: int | None) -> list[str]:
    """Returns names of benchmarks, evenly over families, with sizes spread in each family.

    Args:
        benchmarks: Benchmarks to choose from.
        count: Largest number; None is all.

    Raises:
        ValueError: The number is negative.
    """
    if count is not None and count < 0:
        raise ValueError(f"expected 0 or more benchmarks, got {count}")
    by_family = defaultdict(list)
    for benchmark in sorted(benchmarks, key=lambda b: (b.op_count, b.name)):
        by_family[benchmark.family].append(benchmark.name)
    rounds = zip_longest(*(_spread(names) for names in by_family.values()))
    names = [name for name in chain.from_iterable(rounds) if name is not None]
    return sorted(names[:count])


def _spread(names: list[str]) -> list[str]:
    """Returns the middle one first, then the middles of both halves, and so on."""
    if len(names) < 2:
        return names
    middle = len(names) // 2
    halves = zip_longest(_spread(names[:middle]), _spread(names[middle + 1 :]))
    return [names[middle], *(name for name in chain.from_iterable(halves) if name is not None)]


def recorded(names: Sequence[str]) -> dict[str, Reference]:
    """Returns the references that the corpus has recorded, by benchmark."""
    of_corpus = {b.name: b for b in corpus.load()}
    return {name: _recorded(of_corpus[name]) for name in names if name in of_corpus}


def _recorded(benchmark: corpus.Benchmark) -> Reference:
    after = {
        "xla-cpu": benchmark.op_count_xla_cpu,
        "xla-simplify": benchmark.op_count_xla_simplify,
    }
    return Reference(benchmark.op_count, {name: count for name, count in after.items() if count})


def measured(name: str, pipelines: Sequence[str] = REFERENCES) -> Reference:
    """Runs reference pipelines on a benchmark, and returns its reference.

    Args:
        name: The benchmark.
        pipelines: Names of the pipelines to run.

    Raises:
        HloError: The benchmark cannot be read, or XLA refuses it.
    """
    module = load(name)
    reference = Reference(module.op_count, {})
    for pipeline in pipelines:
        result = module.clone()
        begun = time.perf_counter()
        called = hlograph.pipelines[pipeline].run(result.run)
        reference.seconds[pipeline] = time.perf_counter() - begun
        reference.calls[pipeline] = len(called)
        reference.after[pipeline] = result.op_count
    return reference


@dataclass(frozen=True)
class Part:
    """A part of the corpus."""

    split: Split
    corpus_set: CorpusSet | None
    op_limit: int | None
    count: int | None
    """Largest number of benchmarks, evenly over families; None is all."""

    def __str__(self) -> str:
        return f"{self.corpus_set or 'corpus'} {self.split}"

    def names(self, globs: Sequence[str] = ("*",)) -> list[str]:
        """Returns the names of its benchmarks that a glob matches.

        Raises:
            ValueError: A glob matches no benchmark of the part.
        """
        within = corpus.load(self.corpus_set, self.split, max_op_count=self.op_limit)
        matched = {glob: [b for b in within if fnmatchcase(b.name, glob)] for glob in globs}
        for glob, benchmarks in matched.items():
            if not benchmarks:
                raise ValueError(self._no_match(glob))
        everything = {b.name: b for benchmarks in matched.values() for b in benchmarks}
        return spread_over_families(everything.values(), self.count)

    def _no_match(self, glob: str) -> str:
        """Returns the message for a glob without a match, with the splits where it has some."""
        named = "" if glob == "*" else f" that {glob!r} matches"
        if self.op_limit is None:
            message = f"{self} has no benchmark{named}"
        else:
            message = f"no benchmark{named} of {self} has at most {self.op_limit:,} instructions"
        splits = Counter(b.split for b in corpus.load() if fnmatchcase(b.name, glob))
        elsewhere = ", ".join(f"{count} in {split}" for split, count in splits.most_common())
        return f"{message}; the whole corpus has {elsewhere or 'none'}"


def is_glob(pattern: str) -> bool:
    """Returns True if a pattern selects among benchmarks, and names none of them."""
    return any(sign in pattern for sign in "*?[") and not is_file(absolute(as_location(pattern)))


def chosen(patterns: Sequence[str], part: Part) -> tuple[list[str], str]:
    """Returns names of benchmarks, and the name of the group in tables.

    Args:
        patterns: Names of the corpus, files, folders and URLs, each of which is taken whatever
            the part, and globs, which select in the part. No pattern is the whole part.
        part: The part.

    Raises:
        ValueError: A pattern matches nothing.
        HloError: A folder holds no modules.
    """
    if not patterns:
        return part.names(), str(part)
    globs = [pattern for pattern in patterns if is_glob(pattern)]
    of_corpus = {b.name for of_set in (None, "speed") for b in corpus.load(of_set)}
    names = part.names(globs) if globs else []
    for pattern in patterns:
        if pattern in globs:
            continue
        own = [pattern] if pattern in of_corpus else own_modules(pattern)
        if not own:
            raise ValueError(
                f"{pattern!r} is no benchmark, no glob, no file and no folder; benchmarks are "
                f"named like {corpus.load()[0].name!r}"
            )
        names += own
    title = " ".join(patterns)
    return list(dict.fromkeys(names)), f"{title}, of {part}" if globs else title
