/** The kernels of a run, as a table. */

import { el } from "../parts/dom";
import { count, seconds } from "../parts/numbers";
import { table, type Table } from "../parts/table";
import type { Recorded } from "./data";
import { colourOfKind } from "./kinds";

export interface KernelRow {
  readonly kernel: number;
}

export interface KernelTable {
  readonly table: Table<KernelRow>;
  readonly rows: readonly KernelRow[];
  /** Shows the kernels that have all words of a text in what is known of them. */
  filter(text: string): void;
}

export function kernelTable(recorded: Recorded, caption: string, chosen: (kernel: number) => void): KernelTable {
  const { kernels } = recorded;
  const rows = kernels.name.map((_, kernel) => ({ kernel }));
  const most = Math.max(...kernels.seconds, 1e-12);
  const made = table<KernelRow>(
    [
      {
        title: "kernel",
        cell: ({ kernel }) =>
          el(
            "span",
            { class: "mono", title: kernels.op_name[kernel] },
            el("span", { class: "dot", style: { background: colourOfKind(kernels.kind[kernel]!) } }),
            kernels.name[kernel],
          ),
        key: ({ kernel }) => kernels.name[kernel]!,
      },
      {
        title: "time",
        right: true,
        hint: "Seconds of a run, in all calls",
        cell: ({ kernel }) => seconds(kernels.seconds[kernel]!),
        key: ({ kernel }) => kernels.seconds[kernel]!,
      },
      {
        title: "predicted",
        right: true,
        hint: "Seconds of a run that learned trees predict without running it",
        cell: ({ kernel }) => {
          const predicted = kernels.predicted[kernel]!;
          return predicted === null ? "" : seconds(predicted);
        },
        key: ({ kernel }) => kernels.predicted[kernel] ?? 0,
      },
      {
        title: "share",
        right: true,
        hint: "Share of a run's time",
        cell: ({ kernel }) => `${((100 * kernels.seconds[kernel]!) / recorded.seconds).toFixed(1)} %`,
        key: ({ kernel }) => kernels.seconds[kernel]!,
      },
      {
        title: "",
        cell: ({ kernel }) =>
          el("span", {
            class: "share",
            "aria-hidden": "true",
            style: {
              width: `${(70 * kernels.seconds[kernel]!) / most}px`,
              background: colourOfKind(kernels.kind[kernel]!),
            },
          }),
      },
      {
        title: "calls",
        right: true,
        cell: ({ kernel }) => count(Math.round(10 * kernels.calls[kernel]!) / 10),
        key: ({ kernel }) => kernels.calls[kernel]!,
      },
      { title: "kind", cell: ({ kernel }) => kernels.kind[kernel], key: ({ kernel }) => kernels.kind[kernel]! },
      {
        title: "library",
        cell: ({ kernel }) => (kernels.library[kernel] === "none" ? "" : kernels.library[kernel]),
        key: ({ kernel }) => kernels.library[kernel]!,
      },
      {
        title: "shape",
        cell: ({ kernel }) => el("span", { class: "mono", text: kernels.shape[kernel] }),
        key: ({ kernel }) => kernels.shape[kernel]!,
      },
    ],
    rows,
    { caption, chosen: ({ kernel }) => chosen(kernel) },
  );
  const texts = rows.map(({ kernel }) =>
    [kernels.name, kernels.kind, kernels.opcode, kernels.op_name, kernels.library, kernels.shape]
      .map((column) => column[kernel])
      .join(" ")
      .toLowerCase(),
  );
  return {
    table: made,
    rows,
    filter(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      made.show(rows.filter(({ kernel }) => words.every((word) => texts[kernel]!.includes(word))));
    },
  };
}
