/** The view of a policy: what it saw and preferred in each state, and what its step changed. */

import { el, fill } from "../parts/dom";
import { count, counted } from "../parts/numbers";
import { choicesList, factsText } from "../policy/choices";
import { type Episode, type Move, type PolicyPage, type Seen, percent, placeOf } from "../policy/data";
import { sight } from "../policy/sight";
import { trace } from "../policy/trace";
import type { PageData, Site, View } from "../site";
import type { Difference } from "../steps/data";
import { differenceView } from "../steps/difference";
import { stepList, summary } from "../steps/list";

/** Name of the query that plays on; hlograph/explorer/policies.py. */
const WHAT_IF = "what-if";
const ENDINGS = { stop: "ended by itself", horizon: "ended by the horizon of its training", limit: "cut off by the limit of steps" };

const keys = [
  ["← →", "on the slider: other step"],
  ["↑ ↓ Enter", "in the list: to the next step, choose it"],
  ["s  c", "show what the policy saw, or what the step changed"],
] as const;

async function show(root: HTMLElement, page: PageData, site: Site): Promise<void> {
  const data = page.data as PolicyPage;
  const episodes: { title: string; episode: Episode }[] = [];
  let episode: Episode;
  let current = 1;
  let action = -1;
  let mode: "saw" | "changed" = "saw";

  const canTake = site.live?.queries.includes(WHAT_IF) ?? false;
  const curves = trace((number) => void choose(number));
  const list = stepList({
    caption: "Steps of the episode",
    columns: [
      { title: "p", right: true, hint: "Probability of the action that was taken", cell: ({ number }) => percent(probabilityOf(episode.moves[number - 1]!)) },
      { title: "Value", right: true, hint: "Reward that the policy expects from here on, discounted", cell: ({ number }) => episode.moves[number - 1]!.value.toFixed(1) },
    ],
    chosen: (number) => void choose(number),
  });
  const choices = choicesList({
    chosen: (other) => void look(other),
    take: canTake ? (other) => void take(other) : null,
  });
  const seen = sight();
  const changes = differenceView({ region: () => undefined });
  const title = el("h2", { class: "mono" });
  const facts = el("span", { class: "note" });
  const saw = el("button", { type: "button", text: "What it saw", onclick: () => turn("saw") });
  const changed = el("button", { type: "button", text: "What changed", onclick: () => turn("changed") });
  const which = el("select", { "aria-label": "Episode", onchange: () => void play(which.selectedIndex, 1) });
  const ending = el("p", { class: "note about" });
  fill(
    root,
    el(
      "div",
      { class: "steps-side" },
      el("p", { class: "note about", text: `${data.name} on ${data.program}. ${data.about}` }),
      el("div", { class: "toolbar" }, el("label", { text: "Episode " }, which)),
      ending,
      curves.element,
      list.element,
    ),
    choices.element,
    el(
      "div",
      { class: "steps-main" },
      el("div", { class: "toolbar" }, title, facts, el("span", { class: "space" }), saw, changed),
      seen.element,
      changes.element,
    ),
  );
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).matches("select")) return;
    if (event.key === "s") turn("saw");
    else if (event.key === "c") turn("changed");
  });

  function add(name: string, added: Episode): void {
    episodes.push({ title: name, episode: added });
    which.append(el("option", { text: name }));
  }

  async function play(number: number, step: number): Promise<void> {
    which.selectedIndex = number;
    episode = episodes[number]!.episode;
    const last = episode.moves.at(-1)!;
    ending.textContent = `${counted(episode.moves.length, "step")}, ${ENDINGS[episode.ending]}; ${count(data.start_op_count)} → ${count(last.step.op_count)} instructions`;
    list.show(episode.moves.map((move) => move.step), data.start_op_count);
    curves.show(episode.moves);
    await choose(step);
  }

  async function choose(number: number): Promise<void> {
    current = Math.min(Math.max(number, 1), episode.moves.length);
    const move = episode.moves[current - 1]!;
    list.mark(current);
    curves.mark(current);
    choices.show(move);
    title.textContent = move.step.name;
    facts.textContent = `${summary(move.step)} · reward ${move.reward.toFixed(2)}`;
    site.select(page.name, String(current));
    await look(move.action);
  }

  /** Shows what an action of the present state is about. */
  async function look(other: number): Promise<void> {
    action = other;
    choices.mark(action);
    await draw();
  }

  function turn(other: "saw" | "changed"): void {
    mode = other;
    void draw();
  }

  async function draw(): Promise<void> {
    const [number, of] = [current, episode];
    const move = of.moves[number - 1]!;
    saw.setAttribute("aria-pressed", String(mode === "saw"));
    changed.setAttribute("aria-pressed", String(mode === "changed"));
    seen.element.hidden = mode !== "saw";
    changes.element.hidden = mode !== "changed";
    if (mode === "saw") {
      const found = (await site.load(move.state)) as Seen;
      if (number === current && of === episode) await seen.show(found, action, aboutAction(move, action));
    } else if (move.step.file === null) {
      changes.say(move.step.error ? `The step failed: ${move.step.error}` : "This step changed nothing.");
    } else {
      const found = (await site.load(move.step.file)) as Difference;
      if (number === current && of === episode) await changes.show(found, 0);
    }
  }

  /** Takes another action than the policy did, which then plays on. */
  async function take(other: number): Promise<void> {
    const step = current;
    const before = episode.moves.slice(0, step - 1).map((move) => move.action);
    const name = episode.moves[step - 1]!.names[placeOf(episode.moves[step - 1]!, other)]!;
    site.say(`Playing on after ${name} …`);
    root.setAttribute("aria-busy", "true");
    try {
      const answer = (await site.live!.ask(WHAT_IF, { actions: [...before, other] })) as { episode: string };
      const after = (await site.load(answer.episode)) as Episode;
      let at = episodes.findIndex((each) => each.episode === after);
      if (at < 0) at = episodes.length;
      if (at === episodes.length) add(`${name} in step ${step}`, after);
      await play(at, step);
      const least = after.moves.at(-1)!.step.op_count;
      site.say(`After ${name} in step ${step}: ${count(least)} instructions in the end`);
    } catch (error) {
      site.say(error instanceof Error ? error.message : String(error));
    }
    root.removeAttribute("aria-busy");
  }

  site.onSelection(page.name, (selection) => void choose(Number(selection) || 1));
  add("the policy's own", (await site.load(data.episode)) as Episode);
  if (!canTake) site.say("Served by hlograph explore without --out, other actions can be taken here");
  await play(0, Number(site.selection(page.name)) || 1);
}

function aboutAction(move: Move, action: number): string {
  const place = placeOf(move, action);
  const facts = factsText(move, place);
  return `${move.names[place]}${facts ? `: ${facts}` : ""}.`;
}

function probabilityOf(move: Move): number {
  return move.probabilities[placeOf(move, move.action)] ?? 0;
}

export const policy: View = { show, keys };
