/** Starts the page: reads what the site has, and shows the page that the address names. */

import { load, liveQueries, receiveFiles } from "./loading";
import { startShell } from "./shell";
import type { PageData } from "./site";
import { startTheme } from "./theme";

/** Content of data/site.js, which hlograph/explorer/site.py writes. */
interface SiteFile {
  title: string;
  version: string;
  pages: PageData[];
  live: string[];
}

async function start(): Promise<void> {
  startTheme();
  receiveFiles();
  try {
    const site = (await load("site")) as SiteFile;
    startShell(site.title, site.version, site.pages, liveQueries(site.live));
  } catch (error) {
    document.body.textContent = error instanceof Error ? error.message : String(error);
  }
}

void start();
