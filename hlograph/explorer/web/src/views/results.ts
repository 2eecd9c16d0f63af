/** The view of results: findings, bars, tables and curves; rows open the pages of programs. */

import { type Child, el, fill } from "../parts/dom";
import { counted } from "../parts/numbers";
import { facts } from "../parts/tooltip";
import type { ResultsData, ResultsPage } from "../results/data";
import { innerPages, readInner } from "../results/inner_page";
import { section } from "../results/section";
import type { PageData, Site, View } from "../site";
import { graph } from "./graph";
import { speed } from "./speed";

const keys = [["↑ ↓", "scroll"]] as const;

async function show(root: HTMLElement, page: PageData, site: Site): Promise<void> {
  const links = page.data as ResultsPage;
  const data = (await site.load(links.results)) as ResultsData;
  const answers = (query: string) => site.live?.queries.includes(query) ?? false;
  const inner = innerPages(page, site, () => {
    body.hidden = false;
  });
  const sections = data.sections.map((one) => section(one, linkOf));
  const search = el("input", {
    type: "search",
    placeholder: "Filter the rows of all tables",
    "aria-label": "Filter the rows of all tables",
    oninput: filter,
  });
  const body = el(
    "div",
    { class: "results-body" },
    el("div", { class: "toolbar results-toolbar" }, el("h2", { class: "mono", text: data.title }), search, contents()),
    data.findings.length > 0 ? el("ul", { class: "findings" }, ...data.findings.map((text) => el("li", { text }))) : null,
    ...sections.map((one) => one.element),
    remarks(),
  );
  fill(root, body, inner.element);

  function filter(): void {
    let found = 0;
    for (const one of sections) for (const table of one.tables) found += table.filter(search.value);
    site.say(search.value === "" ? "" : counted(found, "row"));
  }

  /** Links to the sections, where there are several. */
  function contents(): HTMLElement | null {
    if (sections.length < 3) return null;
    const select = el(
      "select",
      {
        "aria-label": "Go to a section",
        onchange: () => {
          sections[select.selectedIndex - 1]?.element.scrollIntoView();
          select.selectedIndex = 0;
        },
      },
      el("option", { text: "Go to …" }),
      ...data.sections.map(({ title }) => el("option", { text: title })),
    );
    return select;
  }

  function remarks(): HTMLElement | null {
    const made = Object.entries(data.made);
    if (made.length === 0 && data.notes.length === 0) return null;
    return el(
      "section",
      { class: "result" },
      el("h2", { text: "How it was made" }),
      ...data.notes.map((text) => el("p", { text })),
      facts(made),
    );
  }

  function linkOf(kind: "program" | "plan", name: string): Child {
    const has = kind === "program" ? name in links.programs || answers(links.queries.program) : answers(links.queries.plan);
    const text = kind === "plan" ? "plan" : name;
    if (!has) return kind === "plan" ? el("span", { title: name, text: "yes" }) : el("span", { class: "mono", text });
    return el("a", { class: "mono", href: site.link(page.name, `${kind}:${name}`), text });
  }

  function follow(selection: string): void {
    const { name } = readInner(selection);
    const [kind, ...rest] = name.split(":");
    const subject = rest.join(":");
    if (subject === "") {
      inner.close();
      body.hidden = false;
      return;
    }
    if (inner.isOpen && name === opened) return; // something else in it was selected
    opened = name;
    body.hidden = true;
    if (kind === "plan") void inner.open(name, speed, subject, () => site.live!.ask(links.queries.plan, { page: page.name, plan: subject }));
    else void inner.open(name, graph, subject, () => programData(subject));
  }

  async function programData(name: string): Promise<unknown> {
    const file = links.programs[name];
    if (file !== undefined) return { module: file };
    if (!answers(links.queries.program)) throw new Error(`the page of ${name} was not written: name it with --programs`);
    return site.live!.ask(links.queries.program, { program: name });
  }

  let opened = "";
  site.onSelection(page.name, follow);
  follow(site.selection(page.name));
}

export const results: View = { show, keys };
