"""Takes the pictures of docs/explorer.md and the pages beside it.

    python -m tests.explorer_pictures [NAME ...]

It needs Chromium and playwright. A picture is a page of a site, opened in a real browser.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hlograph import Module, corpus
from hlograph.explorer.graph_pages import compiled_page, graph_page
from hlograph.explorer.plan_pages import speed_page
from hlograph.explorer.policies import policy_page
from hlograph.explorer.results_page import ResultsSite
from hlograph.explorer.site import Contents, write_site
from hlograph.explorer.step_pages import passes_page
from hlograph.measuring.trial import Job
from hlograph.plans import Plan, Program

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).parent.parent / "docs" / "explorer"
SIZE = (1280, 740)
MOST_BYTES = 150_000

MODEL = """
import jax

def layer(x, w):
    with jax.named_scope("attention"):
        scores = jax.nn.softmax(x @ w["query"] @ (x @ w["key"]).T)
        x = x + scores @ (x @ w["value"])
    with jax.named_scope("feed_forward"):
        return x + jax.nn.gelu(x @ w["up"]) @ w["down"]

def loss(w, x):
    for name in sorted(w):
        with jax.named_scope(name):
            x = layer(x, w[name])
    return (x**2).mean()
"""


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        name: Name of its file.
        contents: Makes the site.
        place: Page and selection, the part of the address after ``#``.
        theme: Dark or light.
        prepare: What is done on the page before.
        height: Height in pixels.
    """

    name: str
    contents: Callable[[], Contents]
    place: str
    theme: Literal["dark", "light"] = "light"
    prepare: Callable[[Page], Any] = lambda page: None
    height: int = SIZE[1]


def large() -> Contents:
    """Returns the graph of the largest benchmark."""
    benchmark = corpus.benchmark("gpt2/l75-h16-a2/train-adamw-b1-s8")
    page, files = graph_page(benchmark.load())
    return Contents(benchmark.name, (page,), files)


def measured() -> Contents:
    """Returns the graph of a function with scopes, and the compiled one with measured times."""
    import jax
    import jax.numpy as jnp

    # The name of the file is seen in the picture.
    names: dict[str, Any] = {}
    exec(compile(MODEL, "model.py", "exec"), names)
    square, wide, tall = jnp.ones((128, 128)), jnp.ones((128, 512)), jnp.ones((512, 128))
    one = {"query": square, "key": square, "value": square, "up": wide, "down": tall}
    step = jax.jit(jax.grad(names["loss"])).lower(
        {"layer_0": one, "layer_1": one}, jnp.ones((256, 128))
    )
    page, files = graph_page(Module.from_jax(step))
    compiled, more = compiled_page(Job(Program.of(step), None, "close"))
    return Contents("step", (page, compiled), files | more)


def with_steps() -> Contents:
    """Returns the steps of a pipeline on a small benchmark."""
    benchmark = corpus.benchmark("stax/mlp-2x32/forward-b8")
    page, files = passes_page(benchmark.load(), ["xla-simplify"])
    return Contents(benchmark.name, (page,), files)


def with_policy() -> Contents:
    """Returns the episode of a policy on a benchmark of 999 instructions."""
    benchmark = corpus.benchmark("equivariant/gate-l2-r2/forward")
    files: dict[str, Any] = {}
    page, _, _ = policy_page(benchmark.load(), "gnn", files)
    return Contents(benchmark.name, (page,), files)


def of_plan() -> Contents:
    """Returns the page of a plan of a program of the corpus, with what its decisions bring."""
    program = Program.of(corpus.benchmark("n-body/vortices/n256-t20").load())
    flags = {"xla_cpu_prefer_vector_width": 512, "xla_cpu_use_multi_output_fusion": True}
    plan = Plan(program.name, program.fingerprint, flags=flags, method="by hand")
    page, files = speed_page(plan, Job(program, None, "close"), measure=True)
    return Contents("vortices", (page,), files)


def of_races() -> Contents:
    """Returns the page of a comparison of ways to tune."""
    return ResultsSite(FOLDER.parent / "results" / "tuning").contents


def fit(page: Page) -> None:
    """Shows the whole neighbourhood."""
    page.get_by_role("button", name="Fit").click()
    page.locator("[role=tabpanel]:not([hidden])").evaluate("panel => panel.scrollTo(0, 0)")
    page.mouse.move(2, 2)


def open_scopes(page: Page) -> None:
    """Opens the tree of scopes down to a layer."""
    page.get_by_role("button", name="Scopes").click()
    for name in ("jit(loss)", "jvp(layer_0)", "attention"):
        row = page.get_by_role("treeitem").filter(has_text=name).first
        row.locator(".twist").click()


PICTURES = (
    Picture("graph", large, "graph/dot_general.1753"),
    Picture("scopes", measured, "graph", prepare=open_scopes),
    Picture("compiled", measured, "compiled", "dark"),
    Picture("steps", with_steps, "steps/2"),
    Picture("policy", with_policy, "policy/3", "dark"),
    Picture("plan", of_plan, "speed", prepare=fit, height=1080),
    Picture("results", of_races, "tuning", "dark"),
)


def save(screenshot: bytes, file: Path) -> None:
    """Writes a picture, in fewer colours if the file would be large."""
    from PIL import Image

    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    picture.save(file, optimize=True)
    if file.stat().st_size > MOST_BYTES:
        # This method keeps colours of few pixels, such as those of a legend; the means after it
        # keep those of large areas.
        picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2).save(file, optimize=True)


def main() -> None:
    """Takes the pictures that are named, or all."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    made: dict[Callable[[], Contents], Path] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for picture in PICTURES:
            if sys.argv[1:] and picture.name not in sys.argv[1:]:
                continue
            if picture.contents not in made:
                made[picture.contents] = Path(folder) / picture.name
                write_site(made[picture.contents], picture.contents())
            page = browser.new_page(
                viewport={"width": SIZE[0], "height": picture.height}, color_scheme=picture.theme
            )
            index = made[picture.contents] / "index.html"
            page.goto(f"{index.as_uri()}#{picture.place}")
            page.wait_for_selector("[role=tabpanel]:not([hidden])[data-ready]")
            picture.prepare(page)
            page.wait_for_timeout(1000)
            file = FOLDER / f"{picture.name}.png"
            save(page.screenshot(), file)
            print(f"{file}: {file.stat().st_size:,} bytes")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
