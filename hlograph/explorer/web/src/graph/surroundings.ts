/** Which instructions the picture of a neighbourhood shows. */

import { MOST_NODES } from "../parts/neighbourhood";
import type { Id, ModuleGraph } from "./module";

/** Instructions shown at first. */
const FIRST = 30;
/** Neighbours of the first instruction that are shown at first, and of each further one. */
const FIRST_NEIGHBOURS = 10;
const FURTHER_NEIGHBOURS = 4;
/** Neighbours that one instruction brings at once; a constant may have a thousand users. */
const AT_ONCE = 24;

export class Surroundings {
  private shown = new Set<Id>();
  private centre: Id = 0;

  constructor(private readonly module: ModuleGraph) {}

  get focus(): Id {
    return this.centre;
  }

  get nodes(): readonly Id[] {
    return [...this.shown];
  }

  has(node: Id): boolean {
    return this.shown.has(node);
  }

  /** Shows an instruction with the nearest ones around it. */
  around(node: Id): void {
    this.shown = new Set([node]);
    this.centre = node;
    const waiting = [node];
    for (let i = 0; i < waiting.length && this.shown.size < FIRST; i++) {
      for (const neighbour of this.neighbours(waiting[i]!).slice(0, i === 0 ? FIRST_NEIGHBOURS : FURTHER_NEIGHBOURS)) {
        if (this.shown.size >= FIRST) break;
        if (!this.shown.has(neighbour)) waiting.push(neighbour);
        this.shown.add(neighbour);
      }
    }
  }

  /** Makes a shown instruction the one in focus. */
  refocus(node: Id): void {
    this.centre = node;
  }

  /** Adds neighbours of an instruction, and returns how many. */
  expand(node: Id): number {
    const room = Math.min(AT_ONCE, MOST_NODES - this.shown.size);
    const added = this.hidden(node).slice(0, Math.max(0, room));
    for (const neighbour of added) this.shown.add(neighbour);
    return added.length;
  }

  /** Adds all neighbours of all shown instructions, as far as there is room. */
  expandAll(): number {
    const before = this.shown.size;
    for (const node of this.nodes) this.expand(node);
    return this.shown.size - before;
  }

  /** Returns the neighbours that are not shown. */
  hidden(node: Id): Id[] {
    return this.neighbours(node).filter((neighbour) => !this.shown.has(neighbour));
  }

  get isFull(): boolean {
    return this.shown.size >= MOST_NODES;
  }

  private neighbours(node: Id): Id[] {
    const { module } = this;
    // In turn, so that many users do not hide the operands.
    const operands = [...new Set([...module.operands(node), ...module.controlledBy(node)])];
    const users = module.usersOf(node);
    const mixed: Id[] = [];
    for (let i = 0; i < Math.max(operands.length, users.length); i++) {
      if (i < operands.length) mixed.push(operands[i]!);
      if (i < users.length) mixed.push(users[i]!);
    }
    return [...new Set(mixed)];
  }
}
