/** An optimized module as the views use it; hlograph/explorer/timelines.py. */

export interface OptimizedData {
  readonly name: string;
  readonly entry: number;
  readonly computations: readonly string[];
  readonly names: readonly string[];
  readonly opcode: readonly number[];
  readonly shape: readonly number[];
  readonly computation: readonly number[];
  readonly scope: readonly number[];
  readonly kind: readonly number[];
  readonly attributes: readonly string[];
  readonly offsets: readonly number[];
  readonly targets: readonly number[];
  readonly called: Readonly<Record<string, readonly number[]>>;
  readonly parameter: Readonly<Record<string, number>>;
  readonly roots: readonly number[];
  readonly opcodes: readonly string[];
  readonly shapes: readonly string[];
  readonly scopes: readonly string[];
  readonly kinds: readonly string[];
}

/** Number of an instruction. */
export type Row = number;

export class Optimized {
  private readonly rows = new Map<string, Row>();
  private readonly usersOf = new Map<Row, Row[]>();
  private readonly inside = new Map<number, Row[]>();
  private readonly rootOf = new Map<number, Row>();

  constructor(private readonly data: OptimizedData) {
    data.names.forEach((name, row) => {
      this.rows.set(name, row);
      append(this.inside, data.computation[row]!, row);
      for (const operand of new Set(this.operands(row))) append(this.usersOf, operand, row);
    });
    for (const row of data.roots) this.rootOf.set(data.computation[row]!, row);
  }

  find(name: string): Row | null {
    return this.rows.get(name) ?? null;
  }

  name(row: Row): string {
    return this.data.names[row]!;
  }

  opcode(row: Row): string {
    return this.data.opcodes[this.data.opcode[row]!]!;
  }

  shape(row: Row): string {
    return this.data.shapes[this.data.shape[row]!]!;
  }

  /** Kind of the kernel that it is, or would be. */
  kind(row: Row): string {
    return this.data.kinds[this.data.kind[row]!]!;
  }

  /** Name in the source; may be empty. */
  scope(row: Row): string {
    return this.data.scopes[this.data.scope[row]!]!;
  }

  attributes(row: Row): string {
    return this.data.attributes[row]!;
  }

  computation(row: Row): string {
    return this.data.computations[this.data.computation[row]!]!;
  }

  operands(row: Row): readonly Row[] {
    return this.data.targets.slice(this.data.offsets[row]!, this.data.offsets[row + 1]!);
  }

  users(row: Row): readonly Row[] {
    return this.usersOf.get(row) ?? [];
  }

  /** Instructions of the computations that an instruction calls. */
  within(row: Row): readonly Row[] {
    return (this.data.called[row] ?? []).flatMap((computation) => this.inside.get(computation) ?? []);
  }

  /** The root of what an instruction calls; of a loop its body's, which comes after the condition. */
  root(row: Row): Row | null {
    const last = this.data.called[row]?.at(-1);
    return last === undefined ? null : (this.rootOf.get(last) ?? null);
  }

  /** Number of a parameter; null of other instructions. */
  parameter(row: Row): number | null {
    return this.data.parameter[row] ?? null;
  }
}

function append<K>(map: Map<K, Row[]>, key: K, value: Row): void {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}
