/** The trees of a module, and the search in it. */

import { el } from "../parts/dom";
import { counted } from "../parts/numbers";
import { type TreeItem, tree } from "../parts/tree";
import type { Id, ModuleGraph } from "./module";
import { computationOf, instructionOf, trees } from "./tree_items";

const MOST_FOUND = 5000;

export interface Sidebar {
  readonly element: HTMLElement;
  /** Marks an instruction where it is listed. */
  mark(node: Id): void;
  /** Draws the colours again. */
  recolour(): void;
}

interface Actions {
  instruction(node: Id): void;
  say(message: string): void;
}

type Mode = "computations" | "scopes" | "opcodes";

export function sidebar(module: ModuleGraph, colour: (node: Id) => string, actions: Actions): Sidebar {
  const all = trees(module, colour);
  let mode: Mode = "computations";
  let delay = 0;
  const list = tree({ label: "Instructions", chosen });
  const found = el("span", { class: "note", role: "status" });
  const search = el("input", {
    type: "search",
    placeholder: "Search: name, opcode, shape, scope",
    "aria-label": "Search instructions",
    oninput: () => {
      clearTimeout(delay);
      delay = setTimeout(show, 120);
    },
    onkeydown: (event: KeyboardEvent) => {
      if (event.key === "Escape") {
        search.value = "";
        show();
        search.blur();
      } else if (event.key === "ArrowDown" || event.key === "Enter") {
        show();
        list.element.focus();
      }
    },
  });
  const modes: Mode[] = module.hasScopes ? ["computations", "scopes", "opcodes"] : ["computations", "opcodes"];
  const buttons = modes.map((each) =>
    el("button", {
      type: "button",
      "aria-pressed": String(each === mode),
      text: each[0]!.toUpperCase() + each.slice(1),
      onclick: () => {
        mode = each;
        search.value = "";
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(modes[i] === each)));
        show();
      },
    }),
  );

  function show(): void {
    const text = search.value.trim();
    if (text === "") {
      found.textContent = counted(module.size, "instruction");
      const items = all[mode]();
      list.show(items);
      if (items.length === 1 && mode === "scopes") list.toggle(items[0]!.id);
      return;
    }
    const nodes = module.search(text);
    found.textContent = `${counted(nodes.length, "instruction")} found`;
    if (nodes.length > MOST_FOUND) found.textContent += `, the first ${MOST_FOUND} listed`;
    list.show(all.list(nodes.slice(0, MOST_FOUND)));
  }

  function chosen(item: TreeItem): void {
    const node = instructionOf(item);
    const computation = computationOf(item);
    if (node !== null) actions.instruction(node);
    else if (computation !== null) {
      actions.instruction(module.root(computation));
      actions.say(`root of ${module.computationNames[computation]}`);
    } else list.toggle(item.id);
  }

  show();
  return {
    element: el(
      "div",
      { class: "sidebar" },
      search,
      el("div", { class: "modes", role: "group", "aria-label": "Group by" }, ...buttons),
      found,
      list.element,
    ),
    mark(node) {
      list.mark(list.listed((item) => instructionOf(item) === node));
    },
    recolour: () => list.refresh(),
  };
}
