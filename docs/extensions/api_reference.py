"""Extension of Sphinx that fits the API reference to the way this project writes.

- A code span that is the name of something in the API reference becomes a link to it, on all pages:
  ``hlograph.Module.run``, ``Module.run``.
- Indented code in a module's docstring becomes a block of Python, and a Markdown heading, as
  gymnasium's docstrings have them, becomes a heading.
- Types of Python itself, such as ``bytes``, are no links to attributes that have their name.
- What stands before a colon in the docstring of an attribute is text, and not the type.
- The fields of a named tuple are shown once: its docstring describes them.
"""

from __future__ import annotations

import builtins
import re
from collections import _tuplegetter  # type: ignore[attr-defined]  # not public, but nothing else is
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import find_pending_xref_condition, make_refnode

_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*(?=\(\)$|$)")


class LinkedNames(SphinxPostTransform):
    """Makes links of code spans that name something in the API reference."""

    default_priority = 5
    formats = ("html",)

    def run(self, **options: Any) -> None:
        """Replaces the code spans of one page."""
        objects = self.env.domains.python_domain.objects
        for span in list(self.document.findall(nodes.literal)):
            name = _NAME.match(span.astext())
            if name is None or _is_linked(span):
                continue
            full = next((known for known in _readings(name[0]) if known in objects), None)
            if full is None:
                continue
            entry = objects[full]
            if entry.docname == self.env.docname and _is_within(span, entry.node_id):
                continue
            link = make_refnode(
                self.app.builder, self.env.docname, entry.docname, entry.node_id, span.deepcopy()
            )
            span.replace_self(link)


def _readings(name: str) -> Iterator[str]:
    """Yields the full names that a name may stand for."""
    if "." not in name and not name[0].isupper():
        return  # a word such as ``run``, of which there may be several
    yield name
    yield f"hlograph.{name}"
    yield f"envs.{name}"


def _is_linked(span: nodes.Node) -> bool:
    """Returns True within a link, or where a link has no place."""
    ancestor = span.parent
    while ancestor is not None:
        if isinstance(ancestor, (nodes.reference, nodes.title, nodes.term)):
            return True
        ancestor = ancestor.parent
    return False


def _is_within(span: nodes.Node, node_id: str) -> bool:
    """Returns True in the description of a name itself, which needs no link to itself."""
    ancestor = span.parent
    while ancestor is not None:
        if isinstance(ancestor, nodes.Element):
            inside = (child for child in ancestor.children if isinstance(child, nodes.Element))
            if any(node_id in child.get("ids", ()) for child in inside):
                return True
        ancestor = ancestor.parent
    return False


def mark_blocks(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Marks headings, and the indented code of a module's docstring as Python."""
    lines[:] = [re.sub(r"^#+ (.*)$", r".. rubric:: \1", line) for line in lines]
    headings = [number for number, line in enumerate(lines) if line.startswith(".. rubric::")]
    for number in reversed(headings):
        lines.insert(number + 1, "")
    if what != "module":
        return
    marked: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        inside = bool(marked) and (marked[-1].startswith("    ") or not marked[-1].strip())
        starts = line.startswith("    ") and not before.strip()
        if starts and not (inside and _in_code(marked)):
            marked += [".. code-block:: python", ""]
        marked.append(line)
    lines[:] = marked


def keep_colons(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Keeps napoleon from reading ``Decay: a number`` as an attribute of type ``Decay``."""
    if what in ("attribute", "data", "property") and lines:
        lines.insert(0, "")  # it looks for a type in the first line alone


def _in_code(lines: list[str]) -> bool:
    """Returns True if the last line that is not empty belongs to indented code."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last.startswith("    ")


def keep_builtins(app: Sphinx, document: nodes.document) -> None:
    """Takes the links from the names of Python's own types in signatures and fields."""
    for link in list(document.findall(addnodes.pending_xref)):
        if link.get("refdomain") == "py" and hasattr(builtins, link["reftarget"]):
            shown = find_pending_xref_condition(link, "*")  # a short name, if there is a longer one
            link.replace_self(shown.children if shown else link.children)


def skip_fields(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leaves out the fields of named tuples."""
    return True if isinstance(obj, _tuplegetter) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension."""
    app.add_post_transform(LinkedNames)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", mark_blocks)
    app.connect("doctree-read", keep_builtins)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
