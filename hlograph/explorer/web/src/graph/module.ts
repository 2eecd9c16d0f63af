/** A module as the views use it, from the columns that hlograph/explorer/graph_pages.py writes. */

interface NumbersData {
  name: string;
  title: string;
  unit: string;
  values: (number | null)[];
}

interface OverviewData {
  x: number[];
  y: number[];
  boxes: [number, number, number, number][];
  size: [number, number];
  parts: number;
}

export interface ModuleData {
  name: string;
  names: string;
  opcodes: string[];
  opcode: number[];
  shapes: string[];
  shape: number[];
  attributes: string[];
  attribute: number[];
  scopes: string[];
  scope: number[];
  sources: string[];
  source: number[];
  operand_counts: number[];
  operands: number[];
  control: [number, number][];
  calls: [number, number][];
  computations: string;
  first: number[];
  roots: number[];
  entry: number;
  numbers: NumbersData[];
  overview: OverviewData;
}

/** An instruction or computation, by its number among its kind. */
export type Id = number;

export class ModuleGraph {
  readonly name: string;
  readonly names: readonly string[];
  readonly computationNames: readonly string[];
  /** Number of instructions. */
  readonly size: number;
  readonly entry: Id;
  readonly numbers: readonly NumbersData[];
  readonly overview: OverviewData;
  private readonly operandStart: Uint32Array;
  private readonly userStart: Uint32Array;
  private readonly users: Uint32Array;
  private readonly called = new Map<Id, Id[]>();
  private readonly callersOf = new Map<Id, Id[]>();
  private readonly controlled = new Map<Id, Id[]>();
  private byName: Map<string, Id[]> | null = null;
  private searched: string[] | null = null;

  constructor(private readonly data: ModuleData) {
    this.name = data.name;
    this.names = data.names === "" ? [] : data.names.split("\n");
    this.computationNames = data.computations.split("\n");
    this.size = this.names.length;
    this.entry = data.entry;
    this.numbers = data.numbers;
    this.overview = data.overview;
    this.operandStart = starts(data.operand_counts);
    const used = new Uint32Array(this.size);
    for (const operand of data.operands) used[operand]!++;
    this.userStart = starts(used);
    this.users = this.usersOfAll();
    for (const [caller, computation] of data.calls) {
      append(this.called, caller, computation);
      append(this.callersOf, computation, caller);
    }
    for (const [before, after] of data.control) append(this.controlled, after, before);
  }

  opcode(node: Id): string {
    return this.data.opcodes[this.data.opcode[node]!]!;
  }

  shape(node: Id): string {
    return this.data.shapes[this.data.shape[node]!]!;
  }

  attributes(node: Id): string {
    return this.data.attributes[this.data.attribute[node]!]!;
  }

  /** Name in the source (`op_name`); may be empty. */
  scope(node: Id): string {
    return this.data.scopes[this.data.scope[node]!]!;
  }

  /** Source file and line; may be empty. */
  source(node: Id): string {
    return this.data.sources[this.data.source[node]!]!;
  }

  get hasScopes(): boolean {
    return this.data.scopes.some((scope) => scope !== "");
  }

  operands(node: Id): readonly Id[] {
    return this.data.operands.slice(this.operandStart[node], this.operandStart[node + 1]);
  }

  /** Instructions that have this one as an operand, each once. */
  usersOf(node: Id): readonly Id[] {
    return [...new Set(this.users.subarray(this.userStart[node], this.userStart[node + 1]))];
  }

  /** Instructions that must run before this one without giving it a value. */
  controlledBy(node: Id): readonly Id[] {
    return this.controlled.get(node) ?? [];
  }

  calls(node: Id): readonly Id[] {
    return this.called.get(node) ?? [];
  }

  callers(computation: Id): readonly Id[] {
    return this.callersOf.get(computation) ?? [];
  }

  root(computation: Id): Id {
    return this.data.roots[computation]!;
  }

  isRoot(node: Id): boolean {
    return this.root(this.computation(node)) === node;
  }

  /** The instructions of a computation, operands before users: from the first to before the end. */
  span(computation: Id): readonly [Id, Id] {
    return [this.data.first[computation]!, this.data.first[computation + 1]!];
  }

  computation(node: Id): Id {
    const first = this.data.first;
    let low = 0;
    let high = this.computationNames.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (first[middle]! <= node) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Finds an instruction by its name, or by `computation/name` where several have that name. */
  find(name: string): Id | null {
    if (this.byName === null) {
      this.byName = new Map();
      for (let node = 0; node < this.size; node++) append(this.byName, this.names[node]!, node);
    }
    const [last = "", computation] = name.split("/").reverse();
    const found = this.byName.get(last) ?? [];
    const fits = (node: Id) => this.computationNames[this.computation(node)] === computation;
    return (computation === undefined ? found[0] : found.find(fits)) ?? null;
  }

  /** The name that `find` takes to this instruction. */
  address(node: Id): string {
    const name = this.names[node]!;
    if (this.find(name) === node) return name;
    return `${this.computationNames[this.computation(node)]}/${name}`;
  }

  /** Finds the instructions that have all words in their name, opcode, shape, scope or source. */
  search(text: string): Id[] {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = (this.searched ??= this.searchTexts());
    const found: Id[] = [];
    for (let node = 0; node < this.size; node++) {
      const all = texts[node]!;
      if (words.every((word) => all.includes(word))) found.push(node);
    }
    return found;
  }

  private searchTexts(): string[] {
    return this.names.map((name, node) =>
      [name, this.opcode(node), this.shape(node), this.scope(node), this.source(node)]
        .join(" ")
        .toLowerCase(),
    );
  }

  private usersOfAll(): Uint32Array {
    const next = this.userStart.slice();
    const users = new Uint32Array(this.data.operands.length);
    for (let node = 0; node < this.size; node++) {
      for (let i = this.operandStart[node]!; i < this.operandStart[node + 1]!; i++) {
        users[next[this.data.operands[i]!]!++] = node;
      }
    }
    return users;
  }
}

function starts(counts: ArrayLike<number>): Uint32Array {
  const offsets = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) offsets[i + 1] = offsets[i]! + counts[i]!;
  return offsets;
}

function append<K>(map: Map<K, Id[]>, key: K, value: Id): void {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}
