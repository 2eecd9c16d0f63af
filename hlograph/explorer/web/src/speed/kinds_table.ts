/** Time by kind of kernel, of the default and with the plan. */

import { el } from "../parts/dom";
import { seconds } from "../parts/numbers";
import { table } from "../parts/table";
import { isRecorded, VERSIONS, type SpeedPage, type Version } from "./data";
import { colourOfKind } from "./kinds";

interface KindRow {
  readonly kind: string;
  readonly seconds: Readonly<Record<Version, number>>;
}

export function kindsTable(page: SpeedPage): HTMLElement {
  const rows = kindRows(page);
  const most = Math.max(...rows.flatMap((row) => Object.values(row.seconds)), 1e-12);
  const bar = (row: KindRow, version: Version) =>
    el("span", {
      class: `share ${version}`,
      style: { width: `${(110 * row.seconds[version]) / most}px`, background: colourOfKind(row.kind) },
    });
  return table<KindRow>(
    [
      {
        title: "kind",
        cell: (row) => row.kind,
        key: (row) => row.kind,
      },
      ...VERSIONS.map(({ name, title }) => ({
        title,
        right: true,
        cell: (row: KindRow) => seconds(row.seconds[name]),
        key: (row: KindRow) => row.seconds[name],
      })),
      {
        title: "less",
        right: true,
        hint: "Time that the plan saves; below 0 it adds",
        cell: (row) => signed(row.seconds.default - row.seconds.plan),
        key: (row) => row.seconds.default - row.seconds.plan,
      },
      {
        title: "default above plan",
        cell: (row) => el("span", { class: "pair", "aria-hidden": "true" }, bar(row, "default"), bar(row, "plan")),
      },
    ],
    rows,
    { caption: "Time by kind of kernel" },
  ).element;
}

function kindRows(page: SpeedPage): KindRow[] {
  const found = new Map<string, Record<Version, number>>();
  for (const { name } of VERSIONS) {
    const recorded = page.timelines[name];
    if (!isRecorded(recorded)) continue;
    recorded.kernels.kind.forEach((kind, kernel) => {
      const row = found.get(kind) ?? { default: 0, plan: 0 };
      row[name] += recorded.kernels.seconds[kernel]!;
      found.set(kind, row);
    });
  }
  const rows = [...found].map(([kind, times]) => ({ kind, seconds: times }));
  return rows.filter((row) => row.seconds.default + row.seconds.plan > 0).sort((a, b) => b.seconds.default - a.seconds.default);
}

function signed(value: number): string {
  return value < 0 ? `−${seconds(-value)}` : seconds(value);
}
