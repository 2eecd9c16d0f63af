/** The distribution of a policy over the actions of one state. */

import { type Child, el, fill } from "../parts/dom";
import { amount } from "../parts/numbers";
import { type Move, percent } from "./data";

export interface Choices {
  readonly element: HTMLElement;
  show(move: Move): void;
  /** Marks the action that is looked at; -1 is none. */
  mark(action: number): void;
}

export function choicesList(options: {
  /** Called with an action that is to be looked at. */
  chosen(action: number): void;
  /** Takes an action instead; null where the pages are not live. */
  take: ((action: number) => void) | null;
}): Choices {
  const list = el("ol", { class: "choices-list" });
  const masked = el("input", { type: "checkbox", checked: true, onchange: () => list.classList.toggle("hides-masked", !masked.checked) });
  const number = el("span", { class: "note" });
  const element = el(
    "section",
    { class: "choices", "aria-label": "Actions" },
    el("div", { class: "toolbar" }, el("h3", { text: "Actions" }), number, el("span", { class: "space" }), el("label", {}, masked, " masked")),
    list,
  );
  let rows = new Map<number, HTMLElement>();

  function drawn(move: Move, place: number, largest: number): HTMLElement {
    const action = move.actions[place]!;
    const name = move.names[place]!;
    const probability = move.probabilities[place]!;
    const allowed = move.allowed[place]!;
    const classes = ["choice"];
    if (!allowed) classes.push("masked");
    if (action === move.action) classes.push("taken");
    const said = [percent(probability)];
    if (!allowed) said[0] = "masked";
    if (action === move.action) said.push("taken");
    if (action === move.preferred) said.push("preferred");
    const row = el(
      "li",
      { class: classes.join(" ") },
      el(
        "button",
        { type: "button", class: "choice-look", "aria-pressed": "false", "aria-label": `${name}, ${said.join(", ")}`, title: factsText(move, place) || null, onclick: () => options.chosen(action) },
        el("span", { class: "choice-bar", style: { width: `${largest > 0 ? (100 * probability) / largest : 0}%` } }),
        el("span", { class: "choice-name mono", text: name }),
        tag(move, action),
        el("span", { class: "choice-number", text: allowed ? percent(probability) : "masked" }),
      ),
      take(move, place),
    );
    rows.set(action, row);
    return row;
  }

  function take(move: Move, place: number): Child {
    const action = move.actions[place]!;
    if (!options.take || !move.allowed[place] || action === move.action) return null;
    return el("button", { type: "button", class: "choice-take", text: "Take", "aria-label": `Take ${move.names[place]} and play on`, onclick: () => options.take?.(action) });
  }

  return {
    element,
    show(move) {
      rows = new Map();
      const order = move.actions.map((_, place) => place);
      order.sort((a, b) => Number(move.allowed[b]) - Number(move.allowed[a]) || move.probabilities[b]! - move.probabilities[a]!);
      const largest = Math.max(...move.probabilities);
      fill(list, ...order.map((place) => drawn(move, place, largest)));
      const allowed = move.allowed.filter(Boolean).length;
      number.textContent = `${allowed} of ${move.actions.length} allowed`;
      list.scrollTop = 0;
    },
    mark(action) {
      for (const [each, row] of rows) row.querySelector("button")?.setAttribute("aria-pressed", String(each === action));
    },
  };
}

function tag(move: Move, action: number): Child {
  if (action === move.action) return el("span", { class: "badge", text: "taken" });
  return action === move.preferred ? el("span", { class: "badge other", text: "preferred" }) : null;
}

/** Returns what is known of an action: "instructions −2, flops −1.2 k". */
export function factsText(move: Move, place: number): string {
  const facts = Object.entries(move.facts[place] ?? {});
  return facts.map(([name, value]) => `${name} ${value === null ? "unknown" : signed(value)}`).join(", ");
}

function signed(value: number): string {
  return value < 0 ? `−${amount(-value)}` : amount(value);
}
