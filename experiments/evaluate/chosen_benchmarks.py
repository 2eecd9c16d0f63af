"""Chooses benchmarks by names, globs, files, folders and URLs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from experiments.evaluate.benchmarks import own_modules, spread_over_families
from hlograph import corpus
from hlograph.corpus.shipped import CorpusSet, Split
from hlograph.storage.locations import absolute, as_location, is_file


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
        for glob, found in matched.items():
            if not found:
                raise ValueError(self._no_match(glob))
        everything = {b.name: b for found in matched.values() for b in found}
        return spread_over_families(everything.values(), self.count)

    def _no_match(self, glob: str) -> str:
        """Returns the message for a glob without a match, with the splits where it has some."""
        named = "" if glob == "*" else f" that {glob!r} matches"
        if self.op_limit is None:
            message = f"{self} has no benchmark{named}"
        else:
            message = f"no benchmark{named} of {self} has at most {self.op_limit:,} instructions"
        splits = Counter(b.split for b in corpus.load() if fnmatchcase(b.name, glob))
        found = ", ".join(f"{count} in {split}" for split, count in splits.most_common())
        return f"{message}; the whole corpus has {found or 'none'}"


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
    known = {b.name for b in corpus.load()}
    names = part.names(globs) if globs else []
    for pattern in patterns:
        if pattern in globs:
            continue
        own = [pattern] if pattern in known else own_modules(pattern)
        if not own:
            raise ValueError(
                f"{pattern!r} is no benchmark, no glob, no file and no folder; benchmarks are "
                f"named like {corpus.load()[0].name!r}"
            )
        names += own
    title = " ".join(patterns)
    return list(dict.fromkeys(names)), f"{title}, of {part}" if globs else title
