"""Programs that the documentation may name, and how a test makes each of them short.

A program that is not in `PROGRAMS` fails the test of a command that names it: give it a line here.
Subcommands of `hlograph` have a line each.
"""

from dataclasses import dataclass
from typing import Literal

Split = Literal["train", "validation", "test-seen", "test-unseen"]


@dataclass(frozen=True)
class Program:
    """Settings of the tests of one program's commands.

    Attributes:
        budget: Flags that, put at a command's end, make it finish within a minute. ``OUT`` stands
            for a temporary folder. None if the program is not run, which `reason` explains.
        part: Flags of the budget that choose a small part of the corpus; left out of commands that
            name their own benchmarks.
        reason: Why it is not run.
        quick: Its commands take less than a second or two with these flags, and run in each run of
            the suite; the others have the marker ``slow``.
        bare: It can be called without arguments; if not, its bare name is a mention of it.
        parses: It reads its command line by argparse or tyro. A program that does not is only
            imported.
        split: Split of the corpus whose benchmarks it takes by default; None is all of them.
        corpus_set: Set of the corpus that it takes by default; None is that of ``corpus.load``.
    """

    budget: tuple[str, ...] | None = None
    part: tuple[str, ...] = ()
    reason: str = ""
    quick: bool = False
    bare: bool = True
    parses: bool = True
    split: Split | None = None
    corpus_set: str | None = None


def _flags(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_TRAIN = _flags(
    "--test-op-limit 1000 --test-count 1 --validation-count 1 --total-steps 32 --num-envs 2 "
    "--envs-per-task 2 --horizon 4 --evaluations 1 --samples 0 --workers in-process --out OUT"
)
_TRAIN_PART = _flags("--benchmarks stax/conv-max/forward-b4 --train-op-limit 1000000")
_CLONE = _flags(
    "--cloning.epochs 1 --cloning.corrections 1 --cloning.correction-epochs 1 "
    "--effects.episodes 1 --effects.op-limit 60"
)
_NOT_OURS = "it writes the project's own files"
_TESTED = "its own tests run it"

PROGRAMS: dict[str, Program] = {
    "benchmarks.beside_peers": Program(reason=_TESTED, bare=False),
    "benchmarks.beside_torch": Program(
        _flags("--rounds 2 --budget 1 --search 0 --no-compile --out OUT/beside_torch.csv"),
        part=_flags("--programs n-body/forces/n512"),
        bare=False,
    ),
    "benchmarks.board": Program(_flags("--page None"), quick=True),
    "benchmarks.compare_with_xla": Program(reason=_NOT_OURS, parses=False),
    "benchmarks.enzyme_patterns": Program(reason=_TESTED, bare=False),
    "benchmarks.kernels": Program(
        _flags("--quick --page None"), part=_flags("--rules kernel-top-k")
    ),
    "benchmarks.memory": Program(reason="a worker of benchmarks.run", parses=False),
    "benchmarks.kept_memory": Program(reason="a worker of benchmarks.run", parses=False),
    "benchmarks.npbench": Program(reason=_TESTED, bare=False),
    "benchmarks.ranking": Program(reason="it reads times of the machine they were taken on"),
    "benchmarks.rule_places": Program(
        _flags("--out OUT/places.csv"), part=_flags("--benchmarks sorting/bitonic/*"), quick=True
    ),
    "benchmarks.run": Program(
        _flags(
            "--sizes 100 --rewrite-sizes 100 --rounds 2 --budget 1 --growth-limit 1000 "
            "--learning-sizes 100 --modules 1 --iterations 1 --workers 1 "
            "--out OUT/figures.json --page None"
        )
    ),
    "benchmarks.size": Program(()),
    "benchmarks.speed_rules": Program(
        _flags("--quick --out OUT/rules.csv"), part=_flags("--rules one-hot-as-gather")
    ),
    "datasets/build_corpus.py": Program(reason="it needs the libraries of the corpus"),
    "datasets/datasheet.py": Program(reason=_NOT_OURS, parses=False),
    "datasets/plots.py": Program(reason=_NOT_OURS, parses=False),
    "datasets/shipping.py": Program(reason=_NOT_OURS, parses=False),
    "datasets/speed_datasheet.py": Program(reason=_NOT_OURS, parses=False),
    "datasets/speed_times.py": Program(reason=_NOT_OURS),
    "distribution/carried.py": Program(reason="tests/distribution runs it", bare=False),
    "experiments.cost_model": Program(reason="each subcommand has a line", bare=False),
    "experiments.cost_model effects": Program(_flags("--splits validation"), quick=True),
    "experiments.cost_model record": Program(
        _flags(
            "--plans 2 --max-ms inf --max-compile-seconds inf --out OUT/times --pack OUT/packed"
        ),
        # Of the splits test and train of the speed set, and of the set diverse.
        part=_flags(
            "--programs pairwise-distance/broadcast/* transpose/sum/n64 loss/fenchel-young/grad"
        ),
        corpus_set="speed",
    ),
    "experiments.cost_model train": Program(_flags("--training.epochs 1 --out OUT")),
    "experiments.evaluate": Program(
        _flags("--samples 1 --checks 0 --workers in-process"),
        part=_flags("--op-limit 800 --count 1"),
        bare=False,
        split="test-unseen",
    ),
    "experiments.kernel_bank": Program(reason="each subcommand has a line", bare=False),
    "experiments.kernel_bank choose": Program(reason=_TESTED),
    "experiments.kernel_bank compare": Program(reason=_TESTED),
    "experiments.kernel_bank context": Program(reason=_TESTED),
    "experiments.kernel_bank curve": Program(reason=_TESTED),
    "experiments.kernel_bank pack": Program(reason=_TESTED),
    "experiments.kernel_bank record": Program(_flags("--out OUT/bank --kernels 1 --draws 1")),
    "experiments.paper": Program(
        reason="tests/experiments/paper runs every experiment", bare=False
    ),
    "experiments.paper report": Program(
        reason="tests/experiments/paper/report runs it on known studies"
    ),
    "experiments.paper.fusion_baselines": Program(
        _flags("--benchmarks loss/fenchel-young/grad --pairs 2")
    ),
    "experiments.policies.ship": Program(reason=_NOT_OURS, bare=False),
    "experiments.ppo_passes": Program(
        _flags(
            "--total-steps 16 --num-envs 2 --num-steps 4 --minibatches 2 --out OUT "
            "--held-out stax/conv-max/forward-b4"
        ),
        part=_flags("--benchmarks stax/conv-max/forward-b4"),
        quick=True,
        split="train",
    ),
    "experiments.search": Program(
        _flags("--calls 5 --samples 0 --num-workers 2 --no-record --out OUT"),
        part=_flags("--op-limit 100"),
    ),
    "experiments.search.check_best_known": Program(reason=_NOT_OURS),
    "experiments.search.fixed_order": Program(
        _flags("--op-limit 100 --count 2 --generations 1 --variants 2 --num-workers 1 --out OUT"),
        quick=True,
    ),
    "experiments.search.shortfalls": Program(
        _flags("--num-workers 1 --out OUT"),
        part=_flags("--op-limit 100 --count 1"),
        bare=False,
        split="validation",
    ),
    "experiments.train fusion": Program(
        (*_TRAIN, "--test-op-limit", "100"), part=_TRAIN_PART, split="train"
    ),
    "experiments.train": Program(bare=False),
    "experiments.train_gnn": Program(_TRAIN + _CLONE, part=_TRAIN_PART, quick=True, split="train"),
    "experiments.train op-counts": Program(
        _TRAIN + _CLONE, part=_TRAIN_PART, quick=True, split="train"
    ),
    "experiments.train rewrites": Program(
        (*_TRAIN, "--play-horizon", "4"), part=_TRAIN_PART, split="train"
    ),
    "experiments.train tuning": Program(
        (*_TRAIN, "--play-horizon", "2", "--budget", "0.1", "--test-op-limit", "20"),
        part=("--benchmarks", "selection/last-sorted/*"),
        split="train",
        corpus_set="speed",
    ),
    "experiments.tune": Program(reason="tests/experiments/tune runs it on a tiny program"),
    "experiments.tune.recipes": Program(_flags("--file OUT/recipes.json"), quick=True),
    "experiments.tune.teach": Program(reason=_NOT_OURS),
    "hlograph": Program(reason="each subcommand has a line", bare=False),
    "hlograph apply": Program(_flags("--json"), bare=False),
    "hlograph board": Program(reason="each subcommand has a line", bare=False),
    "hlograph board submit": Program((), quick=True, bare=False),
    "hlograph board verify": Program((), quick=True, bare=False),
    "hlograph calibrate": Program(reason="it takes minutes, and its own tests run it"),
    "hlograph compare": Program(
        reason="it needs another Python, and its own tests run it", bare=False
    ),
    "hlograph corpus": Program((), quick=True, bare=False),
    "hlograph corpus export": Program(_flags("--max-op-count 1000"), quick=True, bare=False),
    "hlograph diff": Program((), quick=True, bare=False),
    # The last --out counts, so that a command that serves pages ends.
    "hlograph explore": Program(_flags("--out OUT/site"), quick=True, bare=False),
    "hlograph optimize": Program(_flags("--budget 2"), bare=False),
    "hlograph parse": Program((), quick=True, bare=False),
    "hlograph passes": Program((), quick=True),
    "hlograph predict": Program(_flags("--top 3"), quick=True, bare=False),
    "hlograph profile": Program(_flags("--limit 3"), bare=False),
    "hlograph run": Program((), quick=True, bare=False),
    "hlograph.isolation.repro": Program(
        reason="tests/hlograph/isolation runs it on reproducers", bare=False
    ),
    "tests.campaigns.fuzz_forms": Program(
        _flags("--applications 20 --programs 2 --workers 1 --out OUT")
    ),
    "tests.campaigns.fuzz_minimise": Program(reason=_TESTED, bare=False),
    "tests.campaigns.fuzz_parser": Program(_flags("--inputs 40 --workers 1 --out OUT")),
    "tests.campaigns.fuzz_passes": Program(
        _flags("--steps 60 --op-limit 60 --workers 1 --out OUT")
    ),
    "tests.campaigns.pass_reports": Program(_flags("--workers 2")),
    "tests.campaigns.proofs": Program(
        _flags("--rules split-pointwise --parts reals --workers 1 --page None")
    ),
    "tests.campaigns.references": Program(
        _flags("--programs 2 --workers 1 --explain-seconds 5 --time-limit 30 --out OUT")
    ),
    "tests.campaigns.rule_fixed_points": Program(
        _flags("--max-ops 60 --max-rewrites 5 --workers 1 --out OUT")
    ),
    "tests.campaigns.sweep_claims": Program(
        _flags("--passes algsimp --time-limit 20 --workers 1 --out OUT"),
        part=_flags("--benchmarks small/*"),
    ),
    "tests.campaigns.sweep_equivalence": Program(
        _flags("--passes algsimp --time-limit 20 --workers 1 --out OUT"),
        part=_flags("--max-ops 60"),
    ),
    "tests.command_line_options": Program(reason=_NOT_OURS),
    "tests.experiments.train.mortal_run": Program(reason=_TESTED, parses=False),
    "tests.explorer_bundle": Program(reason=_NOT_OURS),
    "tests.explorer_pictures": Program(reason=_NOT_OURS, parses=False),
    "tests.extension_stub": Program(reason=_NOT_OURS),
    "tests.proofs.floats.rows": Program(reason=_TESTED, parses=False),
    "tests.proofs.modular": Program(_flags("--rules factor-dots --programs 1 --mutants 1")),
    "tests.rules_table": Program(reason=_NOT_OURS),
}

OTHER = {
    "aws": "a store's own tool",
    "build/fresh/bin/python -I": "tests/distribution/test_wheel.py runs it",
    "export": "of the shell",
    "python3.11 -m venv": "of Python",
    "ray": "of the package ray",
    "source .venv/bin/activate": "of the shell",
    "tensorboard": "of the package tensorboard",
}
"""Commands that are not the project's, by how they begin; they are not checked."""
