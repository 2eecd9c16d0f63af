"""The cost model: what it learns from a small data set, and what it predicts."""

import numpy as np
import pytest
import torch

from experiments.cost_model.comparison import (
    BASELINES,
    CostModelComparison,
    measured_kernels,
    network_seconds,
)
from experiments.cost_model.examples import (
    Data,
    Kernels,
    TableColumns,
    Tables,
    examples,
    load_data,
)
from experiments.cost_model.settings import TrainingConfig
from experiments.cost_model.training import listwise, new_model
from hlograph.corpus import kernel_times, plan_times
from hlograph.corpus.json_lines import dump, save_splits
from models.config import CostModelConfig, GATConfig
from tests.experiments.cost_model.data import KERNELS, times
from tests.experiments.kernel_bank.data import bank

SMALL = CostModelConfig(gat=GATConfig(layers=1, heads=2, head_width=8), hidden=32, dropout=0.0)


def data(seed: int = 0) -> Data:
    learned, unseen = times(12, 12, seed), times(3, 20, seed + 1)
    tables = Tables.of(learned.plans)
    training = examples(learned, tables)
    held_out = examples(unseen, tables)
    columns, flags = TableColumns(tables.flags.columns), tables.flags.table()
    return Data(KERNELS, training, held_out, columns, flags, tables.decisions.table())


@pytest.fixture(scope="module")
def comparison():
    learned = data()
    made = CostModelComparison(learned, SMALL)
    model = made.trained(TrainingConfig(epochs=30, programs=2, learning_rate=1e-2), seed=0)
    return made, model


def off_by(model) -> np.ndarray:
    """Returns the logarithms of the factors by which plans that were held out are predicted off."""
    learned = data()
    kernels = Kernels.of(learned.kernels, model.encoder.store())
    return np.concatenate(
        [
            network_seconds(model, kernels, learned, program) - program.log_seconds.numpy()
            for program in learned.held_out
        ]
    )


def test_it_learns_what_the_baselines_do_not_know(comparison):
    made, _ = comparison
    rows = {line.split(" | ")[0][2:]: line.split(" | ") for line in made.table().splitlines()[2:]}
    learned = float(rows["network, seed 0"][1])
    assert learned > 0.9
    assert float(rows["measured kernels"][1]) == pytest.approx(1, abs=0.01)
    for name in BASELINES:
        assert float(rows[name][1]) < learned - 0.1
    assert "program 2" in made.programs_table()
    assert "3 programs of other families" in made.about()


def test_it_predicts_seconds(comparison):
    _, model = comparison
    assert np.median(np.abs(off_by(model))) < 0.35


def test_a_seed_determines_the_parameters():
    short = TrainingConfig(epochs=1)
    one, same, other = (
        CostModelComparison(data(), SMALL).trained(short, seed).state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_examples_are_free_of_drift():
    found = examples(times(1, 12, 3), Tables.of(()))[0]
    summed = np.log(measured_kernels(None, found))  # pyright: ignore[reportArgumentType]
    # Kernels of both flags have different rows.
    np.testing.assert_allclose(summed, found.log_seconds.numpy(), rtol=1e-4)


def test_the_listwise_loss_is_least_for_the_right_order():
    measured = torch.tensor([-9.0, -8.0, -7.5])
    program = torch.zeros(3, dtype=torch.int64)

    def loss(predicted):
        return listwise(predicted, measured, 0.5, program)

    assert loss(measured + 3).item() == pytest.approx(0, abs=1e-6)
    assert loss(-measured) > loss(measured.roll(1)) > 0.1
    # The loss of two programs is the mean of theirs, and they need not be equally fast.
    both = listwise(
        torch.cat([measured.roll(1), measured + 9]),
        torch.cat([measured, measured]),
        0.5,
        torch.cat([program, program + 1]),
    )
    assert both.item() == pytest.approx(loss(measured.roll(1)).item() / 2, rel=1e-5)


def test_models_of_a_folder_are_loaded(tmp_path):
    (tmp_path / "kernels.jsonl.zst").write_bytes(dump(KERNELS))
    for split, seed in (("train", 0), ("validation", 1), ("test", 2)):
        plans = [
            plan.to_json() | {"program": f"{split} {plan.program}"}
            for plan in times(2, 12, seed).plans
        ]
        (tmp_path / f"{split}.jsonl.zst").write_bytes(dump(plans))
    found = load_data(tmp_path)
    assert [one.name for one in found.training] == ["train program 0", "train program 1"]
    assert len(found.held_out) == 4
    assert found.columns == TableColumns(("wide=true",))
    assert all(program.alone is None for program in found.training)


def test_kernels_of_a_bank_are_learned_behind_those_of_plans(tmp_path):
    plans, alone = tmp_path / "plans", tmp_path / "bank"
    for folder, contents in (
        (plans, {s: [p.to_json() for p in times(1, 12, 0).plans] for s in plan_times.SPLITS}),
        (alone, {s: [k.to_json() for k in bank(3, 0).measured] for s in kernel_times.SPLITS}),
    ):
        save_splits(folder, KERNELS, contents)
    found = load_data(plans, bank=alone)
    (program, *kernels) = found.training
    assert program.alone is None
    assert [len(kernel.plans) for kernel in kernels] == [4, 4, 4]
    assert found.kernels == [*KERNELS, *KERNELS]
    for kernel, measured in zip(kernels, bank(3, 0).measured, strict=True):
        number = measured.variants[0].kernels[0].number
        assert set(kernel.batch.kernel.tolist()) == {len(KERNELS) + number}
        assert kernel.alone
        # Cold runs take three times as long, and the flag makes kernels twice as fast.
        factors = (kernel.alone.log_cold - kernel.log_seconds).exp()
        assert factors.tolist() == pytest.approx([3] * 4, rel=1e-4)
        assert kernel.log_ratios[1].exp().item() == pytest.approx(2, rel=1e-4)
    assert {"flags wide=true", "fusion unfuse", "kernel partitions 2"} < {*found.columns.decisions}
    # Plans that differ by one decision are programs of their own, between both.
    decided = tmp_path / "decided"
    contents = {
        split: [plan.to_json() | {"decisions": {}} for plan in times(1, 12, 0).plans]
        for split in plan_times.SPLITS
    }
    save_splits(decided, KERNELS, contents)
    third = load_data(plans, bank=alone, decided=decided)
    (first, second, *kernels) = third.training
    assert third.kernels == [*KERNELS, *KERNELS, *KERNELS]
    assert third.decided.keys() == {first.name} == {second.name}
    assert second.batch.kernel.tolist() == [len(KERNELS) + n for n in first.batch.kernel.tolist()]
    assert kernels[0].batch.kernel.min() >= 2 * len(KERNELS)


def test_a_new_model_predicts_about_the_seconds_by_rates():
    model = new_model(data().columns, SMALL).eval()
    assert np.abs(off_by(model)).max() < 5
    trained = TrainingConfig(epochs=30, programs=2, learning_rate=1e-2)
    better = CostModelComparison(data(), SMALL).trained(trained, seed=0)
    assert np.median(np.abs(off_by(better))) < np.median(np.abs(off_by(model)))
