/** What the views know of the site that they are part of. */

/** One page of the site, as Python wrote it; its kind says which view shows it. */
export interface PageData {
  readonly kind: string;
  /** Name in addresses, unique in the site. */
  readonly name: string;
  readonly title: string;
  /** What the view needs at once. Names of data files are for `Site.load`. */
  readonly data: unknown;
}

/** Queries to the Python process; there is none where a site is opened from disk. */
export interface Live {
  /** Names of the queries that this site answers. */
  readonly queries: readonly string[];
  /** Asks, and returns the answer. Rejects with the message of the Python error. */
  ask(query: string, question: unknown): Promise<unknown>;
}

export interface Site {
  readonly title: string;
  readonly pages: readonly PageData[];
  readonly live: Live | null;
  /** Loads a data file, once. */
  load(name: string): Promise<unknown>;
  /** Shows a page, with something selected in it. */
  open(page: string, selection?: string): void;
  /** Returns what the address selects in a page; "" is nothing. */
  selection(page: string): string;
  /** Writes a selection of the shown page into the address. */
  select(page: string, selection: string): void;
  /** Calls a function whenever the address selects something else in a page. */
  onSelection(page: string, changed: (selection: string) => void): void;
  /** Returns the address of a selection, for links. */
  link(page: string, selection?: string): string;
  /** Tells people who do not see the change, and everyone else in the status line. */
  say(message: string): void;
}

/** Shows a page in an empty element. */
export type Show = (root: HTMLElement, page: PageData, site: Site) => Promise<void>;

export interface View {
  readonly show: Show;
  /** Keys and what they do, for the list of keys. */
  readonly keys: readonly (readonly [string, string])[];
}
