/** The views, by the kind of page that they show. */

import type { View } from "../site";
import { graph } from "./graph";
import { policy } from "./policy";
import { results } from "./results";
import { speed } from "./speed";
import { steps } from "./steps";

export const views: Readonly<Record<string, View>> = {
  graph,
  policy,
  results,
  speed,
  steps,
};
