/** The view of steps: what each pass, rewrite or decision changed. */

import { el, fill } from "../parts/dom";
import { counted, seconds } from "../parts/numbers";
import type { PageData, Site, View } from "../site";
import type { Difference, Step } from "../steps/data";
import { differenceView } from "../steps/difference";
import { stepList, summary } from "../steps/list";

/** Data of the page; hlograph/explorer/step_pages.py. */
interface StepsPage {
  readonly program: string;
  readonly what: string;
  readonly start_op_count: number;
  readonly steps: readonly Step[];
}

const keys = [
  ["← →", "on the slider: other step"],
  ["↑ ↓ Enter", "in the list and in the text: to the next line, choose it"],
  ["n  p", "next or previous step that changed something"],
] as const;

async function show(root: HTMLElement, page: PageData, site: Site): Promise<void> {
  const { program, what, start_op_count, steps } = page.data as StepsPage;
  let current = 0;
  const list = stepList({ caption: "Steps", chosen: (number) => void choose(number, 0, true) });
  const title = el("h2", { class: "mono" });
  const facts = el("span", { class: "note" });
  const changes = differenceView({ region: (region) => write(current, region) });
  const effective = steps.filter((step) => step.changed).length;
  const total = steps.reduce((sum, step) => sum + step.seconds, 0);
  const about = el("p", {
    class: "note about",
    text: `${what} on ${program}: ${counted(steps.length, "step")}, ${effective} with an effect, ${seconds(total)} in XLA; ${start_op_count.toLocaleString("en-US")} → ${(steps.at(-1)?.op_count ?? start_op_count).toLocaleString("en-US")} instructions`,
  });
  fill(
    root,
    el("div", { class: "steps-side" }, about, list.element),
    el("div", { class: "steps-main" }, el("div", { class: "toolbar" }, title, facts), changes.element),
  );
  list.show(steps, start_op_count);
  root.addEventListener("keydown", (event) => {
    const step = { n: 1, p: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextEffective(current, step);
    if (next > 0) void choose(next, 0, true);
  });

  /** Returns the next step in a direction that changed something; 0 if there is none. */
  function nextEffective(from: number, step: number): number {
    for (let number = from + step; number >= 1 && number <= steps.length; number += step) {
      if (steps[number - 1]!.changed) return number;
    }
    return 0;
  }

  function write(number: number, region: number): void {
    site.select(page.name, region > 0 ? `${number}.${region + 1}` : String(number));
  }

  async function choose(number: number, region: number, writes: boolean): Promise<void> {
    const step = steps[number - 1];
    if (!step) return;
    current = number;
    list.mark(number);
    title.textContent = step.name;
    facts.textContent = `${summary(step)} · ${seconds(step.seconds)}`;
    if (writes) write(number, region);
    if (step.file === null) {
      changes.say(step.error ? `The step failed and left the module as it was: ${step.error}` : "This step changed nothing.");
      return;
    }
    const difference = (await site.load(step.file)) as Difference;
    if (current === number) await changes.show(difference, region);
  }

  async function follow(selection: string): Promise<void> {
    const [number, region] = selection.split(".").map(Number);
    const asked = Math.min(Math.max(number || 0, 0), steps.length);
    await choose(asked || nextEffective(0, 1) || 1, (region || 1) - 1, false);
  }

  site.onSelection(page.name, (selection) => void follow(selection));
  if (steps.length === 0) changes.say("No steps were taken.");
  else await follow(site.selection(page.name));
}

export const steps: View = { show, keys };
