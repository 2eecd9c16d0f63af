/** The frame around the pages: title, tabs, theme, keys, address, status line. */

import { readAddress, writeAddress } from "./address";
import { openKeys } from "./keys";
import { load } from "./loading";
import { el, fill } from "./parts/dom";
import type { Live, PageData, Site } from "./site";
import { switchTheme } from "./theme";
import { views } from "./views";

interface Tab {
  readonly page: PageData;
  readonly button: HTMLButtonElement;
  readonly panel: HTMLElement;
  selection: string;
  readonly listeners: ((selection: string) => void)[];
  shown: boolean;
}

export function startShell(
  title: string,
  version: string,
  pages: readonly PageData[],
  live: Live | null,
): void {
  const tabs = pages.map(tabOf);
  const status = el("div", { class: "status", role: "status", "aria-live": "polite" });
  const site: Site = {
    title,
    pages,
    live,
    load,
    open(page, selection = "") {
      location.hash = writeAddress(page, selection);
    },
    selection: (page) => find(page)?.selection ?? "",
    select(page, selection) {
      const tab = find(page);
      if (!tab) return;
      tab.selection = selection;
      // Replaced, so that going back leaves the page and not each node that was looked at.
      if (tab.button.getAttribute("aria-selected") === "true") {
        history.replaceState(null, "", writeAddress(page, selection));
      }
    },
    onSelection(page, changed) {
      find(page)?.listeners.push(changed);
    },
    link: writeAddress,
    say(message) {
      status.textContent = message;
    },
  };

  function find(page: string): Tab | undefined {
    return tabs.find((tab) => tab.page.name === page);
  }

  function current(): Tab | undefined {
    return tabs.find((tab) => tab.button.getAttribute("aria-selected") === "true");
  }

  function tabOf(page: PageData): Tab {
    const button = el("button", {
      type: "button",
      role: "tab",
      id: `tab-${page.name}`,
      "aria-controls": `panel-${page.name}`,
      "aria-selected": "false",
      tabindex: "-1",
      text: page.title,
      onclick: () => site.open(page.name, site.selection(page.name)),
    });
    const panel = el("section", {
      class: `panel view-${page.kind}`,
      role: "tabpanel",
      id: `panel-${page.name}`,
      "aria-labelledby": button.id,
      hidden: true,
    });
    return { page, button, panel, selection: "", listeners: [], shown: false };
  }

  function follow(): void {
    const address = readAddress(location.hash);
    const tab = find(address.page) ?? tabs[0];
    if (!tab) return;
    const selection = tab.page.name === address.page ? address.selection : "";
    const other = selection !== tab.selection;
    tab.selection = selection;
    for (const each of tabs) {
      const chosen = each === tab;
      each.button.setAttribute("aria-selected", String(chosen));
      each.button.tabIndex = chosen ? 0 : -1;
      each.panel.hidden = !chosen;
    }
    document.title = `${tab.page.title} · ${title}`;
    if (!tab.shown) void show(tab);
    else if (other) for (const listener of tab.listeners) listener(selection);
  }

  async function show(tab: Tab): Promise<void> {
    tab.shown = true;
    tab.panel.setAttribute("aria-busy", "true");
    try {
      const view = views[tab.page.kind];
      if (!view) throw new Error(`these pages have no view for ${tab.page.kind}`);
      await view.show(tab.panel, tab.page, site);
    } catch (error) {
      console.error(error);
      const message = error instanceof Error ? error.message : String(error);
      fill(tab.panel, el("p", { class: "error", role: "alert", text: message }));
    }
    tab.panel.removeAttribute("aria-busy");
    // For tests, which wait for it and measure how long it took.
    tab.panel.dataset["ready"] = "true";
    performance.mark(`shown ${tab.page.name}`);
  }

  function keyOnTabs(event: KeyboardEvent): void {
    const at = tabs.findIndex((tab) => tab.button === event.target);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !step) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next?.button.focus();
    next?.button.click();
    event.preventDefault();
  }

  function keyAnywhere(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || isText(event.target)) return;
    const tab = current();
    if (event.key === "/") {
      const search = tab?.panel.querySelector<HTMLInputElement>("input[type=search]");
      search?.focus();
      search?.select();
      if (search) event.preventDefault();
    } else if (event.key === "?") openKeys(tab ? (views[tab.page.kind]?.keys ?? []) : []);
  }

  const keysOfPage = () => openKeys(views[current()?.page.kind ?? ""]?.keys ?? []);
  fill(
    document.body,
    el(
      "header",
      { class: "header" },
      el("a", {
        class: "skip",
        href: "#",
        text: "Skip to the page",
        onclick: (event: Event) => {
          event.preventDefault();
          current()?.panel.querySelector<HTMLElement>("input, button, [tabindex='0']")?.focus();
        },
      }),
      el("h1", { text: title }),
      el("div", { class: "tabs", role: "tablist", "aria-label": "Pages", onkeydown: keyOnTabs }, ...tabs.map((tab) => tab.button)),
      live ? el("span", { class: "badge", text: "live", title: "Connected to the Python process" }) : null,
      el("button", { type: "button", class: "quiet", text: "Theme", title: "Switch between dark and light", onclick: switchTheme }),
      el("button", { type: "button", class: "quiet", text: "Keys", title: "List of keys", onclick: keysOfPage }),
    ),
    el("main", { class: "main" }, ...tabs.map((tab) => tab.panel)),
    el("footer", { class: "footer" }, status, el("span", { text: `hlograph ${version}` })),
  );
  document.addEventListener("keydown", keyAnywhere);
  addEventListener("hashchange", follow);
  follow();
}

function isText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}
