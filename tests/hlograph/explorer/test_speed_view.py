"""The view of a plan in a browser: recorded, measured on request, and compared with its data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph import corpus
from hlograph.explorer.plan_pages import PlanQueries, speed_page
from hlograph.explorer.site import Contents, write_site
from hlograph.measuring.trial import Job
from hlograph.plans import Plan, Program
from tests.hlograph.explorer.serving import served

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.hlograph.explorer.conftest import Visit

FLAG = "xla_cpu_prefer_vector_width"
NARROW = Plan(flags={FLAG: 128}, steps=("cse",), method="by hand")
X = np.linspace(0, 1, 32 * 32, dtype=np.float32).reshape(32, 32)


def _step(x):
    return jax.lax.fori_loop(0, 4, lambda i, y: jnp.tanh(y @ x) + jnp.sin(y), x)


@pytest.fixture(scope="module")
def job() -> Job:
    return Job(Program.of(jax.jit(_step).lower(X)), [X])


@pytest.fixture(scope="module")
def made(job):
    return speed_page(NARROW, job)


@pytest.fixture
def site(made, tmp_path):
    page, files = made
    write_site(tmp_path / "site", Contents("step", (page,), files))
    return tmp_path / "site"


def _texts(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def _rows(page: Page, caption: str) -> int:
    return page.locator(f"[aria-label='{caption}'] tbody tr").count()


def test_page_opens_from_disk_and_shows_what_was_recorded(visit: Visit, site, made):
    content = made[0].data
    page = visit(site)
    for version, title in (("default", "jaxlib's default"), ("plan", "with the plan")):
        kernels = content["timelines"][version]["kernels"]
        rows = page.locator(f'[aria-label="Kernels, {title}"] tbody tr')
        assert rows.count() == len(kernels["name"])
        shown = [row.split("\t")[0].strip() for row in rows.all_inner_texts()]
        assert shown == kernels["name"]
        assert page.locator(f'canvas[aria-label^="Timeline, {title}"]').count() == 1
    # The whole plan, the control, and the two decisions; nothing was measured.
    assert _rows(page, "Decisions of the plan") == 4
    assert page.locator("text=not measured").count() >= 4
    assert page.locator("button", has_text="Measure").count() == 0


def test_a_chosen_kernel_is_drawn_with_its_fusion_around_it(visit: Visit, site, made):
    page = visit(site)
    module = made[1]["speed-default"]
    fusions = [
        m
        for m, o in zip(module["names"], module["opcode"], strict=True)
        if module["opcodes"][o] == "fusion"
    ]
    kernels = made[0].data["timelines"]["default"]["kernels"]["name"]
    chosen = next(name for name in kernels if name in fusions)
    caption = "Kernels, jaxlib's default"
    page.locator(f'[aria-label="{caption}"] tbody tr', has_text=chosen).first.click()
    page.wait_for_selector(f".group-box:has-text('{chosen} (chosen)')")
    assert page.url.endswith(f"#speed/default/{chosen}")
    row = module["names"].index(chosen)
    (called,) = module["called"][row]
    inside = {
        n
        for n, computation in enumerate(module["computation"])
        if computation == called and n not in module["parameter"]
    }
    drawn = set(
        map(int, page.eval_on_selector_all("[data-node]", "all => all.map(e => e.dataset.node)"))
    )
    assert inside <= drawn
    assert chosen in page.inner_text(".kernel-facts")


def test_address_selects_a_kernel_and_keys_move_along_the_timeline(visit: Visit, site, made):
    kernels = made[0].data["timelines"]["plan"]["kernels"]["name"]
    chosen = next(name for name in kernels if name != "outside kernels")
    page = visit(site, f"#speed/plan/{chosen}")
    marked = "[aria-label='Kernels, with the plan'] tr[aria-selected=true]"
    assert chosen in page.inner_text(marked)
    page.locator("canvas[aria-label^='Timeline, with the plan']").focus()
    run = made[0].data["timelines"]["plan"]["run"]
    for step in (0, 1):
        page.keyboard.press("ArrowRight")
        name = kernels[run["kernel"][step]]
        page.wait_for_selector(f"canvas[aria-label^='Timeline, with the plan: {name},']")
        assert name in page.inner_text(marked)
    page.keyboard.press("+")
    page.keyboard.press("0")


def test_kernels_are_filtered_and_sorted(visit: Visit, site, made):
    kernels = made[0].data["timelines"]["default"]["kernels"]
    page = visit(site)
    rows = page.locator('[aria-label="Kernels, jaxlib\'s default"] tbody tr')
    page.keyboard.press("/")
    page.keyboard.type("outside")
    assert rows.count() == 1
    page.locator("input[type=search]").fill("")
    assert rows.count() == len(kernels["name"])
    page.locator('[aria-label="Kernels, jaxlib\'s default"] th button', has_text="kernel").click()
    assert rows.first.inner_text().split("\t")[0].strip() == min(kernels["name"], key=str.lower)


def test_decision_is_measured_on_request(visit: Visit, made, job):
    page_data, files = made
    queries = PlanQueries()
    queries.add(page_data.name, NARROW, job)
    contents = Contents("step", (page_data,), files, queries.queries)
    with served(contents) as address:
        page = visit(address)
        row = page.locator("[aria-label='Decisions of the plan'] tbody tr", has_text=FLAG)
        row.locator("button", has_text="Measure").click()
        row.locator("button", has_text="Again").wait_for()
        assert row.locator("svg.bar").count() == 1
        assert "(" in row.inner_text()
        same = page.locator("[aria-label='Decisions of the plan'] tbody tr", has_text="cse")
        same.locator("button").click()
        same.locator("text=the same code without it").wait_for()
    queries.close()


def test_a_plan_that_does_not_compile_shows_the_reason(visit: Visit, job, tmp_path):
    page, files = speed_page(Plan(steps=("no-such-pass",)), job)
    write_site(tmp_path / "site", Contents("step", (page,), files))
    shown = visit(tmp_path / "site")
    assert "no-such-pass" in shown.inner_text(".run .error")
    assert shown.locator("canvas[aria-label^='Timeline, with']").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "dense-linear-algebra/pinv/one",
        "learned-evolution/learned-es/generation-bbob",
        "gpt2/l75-h16-a2/train-adamw-b1-s8",
    ],
)
def test_programs_of_all_sizes(visit: Visit, name, tmp_path):
    """60, 1,003 and 48,875 instructions."""
    plan = Plan(flags={FLAG: 256})
    page, files = speed_page(plan, Job(Program.of(corpus.benchmark(name).load())))
    write_site(tmp_path / "site", Contents(name, (page,), files))
    assert len(json.dumps(page.data)) < 6e6
    shown = visit(tmp_path / "site")
    for version, title in (("default", "jaxlib's default"), ("plan", "with the plan")):
        kernels = page.data["timelines"][version]["kernels"]["name"]
        rows = shown.locator(f'[aria-label="Kernels, {title}"] tbody tr')
        assert rows.count() == len(kernels)
    assert shown.locator("[data-node]").count() > 0
