/** Dark and light: as the system has it, until somebody switches, which is kept. */

const KEY = "hlograph-theme";

type Theme = "dark" | "light";

const changed = new Set<() => void>();

const dark = matchMedia("(prefers-color-scheme: dark)");

export function startTheme(): void {
  set(stored() ?? systems());
  dark.addEventListener("change", () => {
    if (stored() === null) set(systems());
  });
}

export function theme(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

export function switchTheme(): void {
  const next: Theme = theme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser may refuse storage to files; then the choice lasts as long as the page.
  }
  set(next);
}

/** Calls a function whenever the theme changes, for what CSS does not colour. */
export function onTheme(callback: () => void): void {
  changed.add(callback);
}

function set(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  for (const callback of changed) callback();
}

function systems(): Theme {
  return dark.matches ? "dark" : "light";
}

function stored(): Theme | null {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "dark" || kept === "light" ? kept : null;
  } catch {
    return null;
  }
}
