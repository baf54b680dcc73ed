/** Writes the one file `ldp.mjs` of the client, readable and not minified. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { buildSync } from "esbuild";

const outfile = process.argv[2] ?? "dist/ldp.mjs";
mkdirSync(dirname(outfile), { recursive: true });
buildSync({
  entryPoints: ["dist/bundle.js"],
  outfile,
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  banner: { js: "// Generated from clients/js by `make bundle`. Edit the sources there." },
});
