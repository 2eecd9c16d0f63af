/** What a plan's file says of it. */

import { intervalText } from "../parts/bars";
import { el } from "../parts/dom";
import { seconds } from "../parts/numbers";
import { ratioText } from "../parts/ratios";
import type { Report } from "./data";

export function reportOf(report: Report): HTMLElement {
  const { measured } = report;
  const elsewhere = report.machine !== null && report.machine !== report.here;
  return el(
    "section",
    { class: "speed-report", "aria-label": "Report of the plan" },
    el("h2", { class: "mono", text: report.program || "plan" }),
    measured
      ? el(
          "p",
          { class: "headline" },
          el("strong", { text: `${intervalText({ value: measured.ratio, low: measured.low, high: measured.high })} times as fast` }),
          ` ${seconds(measured.default_seconds)} by default, ${seconds(measured.seconds)} with the plan`,
        )
      : el("p", { class: "headline", text: "The plan's file has no measurement." }),
    el(
      "dl",
      { class: "facts" },
      ...rows(report).map(([name, value]) => el("div", {}, el("dt", { text: name }), el("dd", { text: value }))),
    ),
    elsewhere
      ? el("p", { class: "warning", text: `The plan was measured on another machine. What is below was measured on ${report.here}.` })
      : null,
  );
}

function rows(report: Report): [string, string][] {
  const { measured } = report;
  const found: [string, string][] = [
    ["numerics", report.numerics],
    ["found by", report.method],
    ["machine", report.machine ?? ""],
    ["interval", measured ? `95 %, ${measured.pairs} pairs; default against itself ${ratioText(measured.control)}` : ""],
  ];
  return found.filter(([, value]) => value !== "");
}
