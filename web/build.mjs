// Builds the islands and the style sheet into the package, where they are committed: a wheel never needs node.
// The same input gives the same bytes; `make check` builds again and compares.

import { build } from "esbuild";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/custody/server/static");
const vendored = ["htmx.org", "cytoscape"];

mkdirSync(out, { recursive: true });
const stale = new Set(readdirSync(out));
const entries = readdirSync(join(here, "src/entries")).sort();
// One sheet for every page, and those that single pages add (PageView.styles).
const sheets = ["app.css", "code.css", "diff.css", "graph.css", "review.css", "sessions.css", "why.css"];
const shared = { bundle: true, minify: true, charset: "utf8", legalComments: "none", logLevel: "warning", outdir: out };
// Classic scripts, not modules: a report is opened from files, where browsers load no modules.
await build({ ...shared, entryPoints: entries.map((name) => join(here, "src/entries", name)), format: "iife", target: "es2021" });
await build({ ...shared, entryPoints: sheets.map((name) => join(here, "src/styles", name)), target: "es2021" });
for (const name of readdirSync(join(here, "static"))) cpSync(join(here, "static", name), join(out, name));
const terms = vendored.map((name) => {
  const { version } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(out, "licenses.txt"), terms.join("\n---\n\n"));

const made = new Set([...entries.map((name) => name.replace(/\.ts$/, ".js")), ...readdirSync(join(here, "static")), ...sheets, "licenses.txt"]);
for (const name of stale) if (!made.has(name)) rmSync(join(out, name), { recursive: true });
