/** Pages of programs and plans that are opened from a row, in the place of the results. */

import { el, fill } from "../parts/dom";
import type { PageData, Site, View } from "../site";

export interface InnerPages {
  readonly element: HTMLElement;
  /** Shows a page; `made` returns its data. */
  open(name: string, view: View, title: string, made: () => Promise<unknown>): Promise<void>;
  close(): void;
  readonly isOpen: boolean;
}

/** Between the name of an inner page and what is selected in it, in an address. */
const INNER = "::";

export function readInner(selection: string): { name: string; inner: string } {
  const at = selection.indexOf(INNER);
  return at < 0 ? { name: selection, inner: "" } : { name: selection.slice(0, at), inner: selection.slice(at + INNER.length) };
}

/**
 * @param page the page that they are opened from, in whose address they are
 * @param closed called when the user goes back
 */
export function innerPages(page: PageData, site: Site, closed: () => void): InnerPages {
  const title = el("h2", { class: "mono" });
  const panel = el("div");
  const back = el("button", { type: "button", text: "← Results", onclick: goBack });
  const element = el("div", { class: "inner-page", hidden: true }, el("div", { class: "toolbar" }, back, title), panel);
  let turn = 0;

  function goBack(): void {
    close();
    site.select(page.name, "");
    closed();
  }

  function close(): void {
    turn++;
    element.hidden = true;
    fill(panel);
  }

  /** The site as an inner page sees it: what it selects is part of the outer page's address. */
  function siteOf(name: string, mine: number): Site {
    const outer = (inner = "") => `${name}${INNER}${inner}`;
    return {
      ...site,
      select: (_, inner) => site.select(page.name, outer(inner)),
      selection: () => {
        const found = readInner(site.selection(page.name));
        return found.name === name ? found.inner : "";
      },
      onSelection: (_, changed) =>
        site.onSelection(page.name, (selection) => {
          const found = readInner(selection);
          if (found.name === name && mine === turn) changed(found.inner);
        }),
      link: (_, inner) => site.link(page.name, outer(inner)),
    };
  }

  return {
    element,
    get isOpen() {
      return !element.hidden;
    },
    close,
    async open(name, view, heading, made) {
      const mine = ++turn;
      title.textContent = heading;
      element.hidden = false;
      panel.setAttribute("aria-busy", "true");
      fill(panel, el("p", { class: "note waiting", text: "being made …" }));
      back.focus();
      try {
        const data = await made();
        if (mine !== turn) return;
        panel.className = `inner view-${name.startsWith("plan:") ? "speed" : "graph"}`;
        fill(panel);
        await view.show(panel, { kind: page.kind, name: page.name, title: heading, data }, siteOf(name, mine));
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (mine === turn) fill(panel, el("p", { class: "error", role: "alert", text: message }));
      }
      panel.removeAttribute("aria-busy");
      panel.dataset["ready"] = name; // tests wait for it
    },
  };
}
