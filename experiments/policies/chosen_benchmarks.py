"""Which benchmarks a checkpoint is evaluated on."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from experiments.outcomes.benchmarks import own_modules, spread_over_families
from experiments.policies.config import CorpusSet
from hlograph import corpus
from hlograph.corpus.shipped import Split
from hlograph.storage.locations import absolute, as_location, is_file


@dataclass(frozen=True)
class Part:
    """A part of the corpus."""

    split: Split
    corpus_set: CorpusSet | None
    op_limit: int
    count: int | None
    """At most so many benchmarks, evenly over families; None is all."""

    def __str__(self) -> str:
        return f"{self.corpus_set or 'corpus'} {self.split}"

    def names(self, globs: Sequence[str] = ("*",)) -> list[str]:
        """Names of its benchmarks that a glob matches.

        Raises:
            ValueError: There is none, or a glob matches none.
        """
        within = corpus.load(self.corpus_set, self.split, max_op_count=self.op_limit)
        matched = {glob: [b for b in within if fnmatchcase(b.name, glob)] for glob in globs}
        for glob, found in matched.items():
            if not found:
                named = "" if glob == "*" else f" that {glob!r} matches"
                raise ValueError(
                    f"no benchmark{named} of {self} has at most {self.op_limit:,} instructions"
                )
        everything = {b.name: b for found in matched.values() for b in found}
        return spread_over_families(everything.values(), self.count)


def is_glob(pattern: str) -> bool:
    """Whether a pattern selects among benchmarks of a split, and does not name something."""
    return any(sign in pattern for sign in "*?[") and not is_file(absolute(as_location(pattern)))


def chosen(patterns: Sequence[str], part: Part) -> tuple[list[str], str]:
    """Names of benchmarks, and what tables call them.

    Args:
        patterns: Names of the corpus, files, folders and URLs, which are taken as they are, and
            globs, which select in a part of the corpus; none is the whole part.
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
