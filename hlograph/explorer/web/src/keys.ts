/** The list of keys, in a dialog. */

import { el } from "./parts/dom";

const EVERYWHERE: readonly (readonly [string, string])[] = [
  ["/", "search in this page"],
  ["←  →", "on the tabs: other page"],
  ["?", "this list"],
  ["Escape", "close, or leave the search"],
];

export function openKeys(ofView: readonly (readonly [string, string])[]): void {
  const rows = [...EVERYWHERE, ...ofView].map(([key, meaning]) =>
    el("div", {}, el("dt", {}, el("kbd", { text: key })), el("dd", { text: meaning })),
  );
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-labelledby": "keys-title" },
    el("h2", { id: "keys-title", text: "Keys" }),
    el("dl", { class: "keys" }, ...rows),
    el("button", { type: "button", text: "Close", onclick: () => dialog.close() }),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
