"""Pages that show a module, what passes did to it, and where its time goes (`hlograph explore`).

The pages are static: `site` writes a folder that opens from disk, `server` serves the same files.
What the pages show is data that the modules here make; how they show it is TypeScript, in ``web``,
which ``make explorer`` bundles into the folder ``site``.
"""
