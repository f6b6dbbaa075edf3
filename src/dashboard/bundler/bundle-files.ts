/**
 * Bundles the dashboard for browsers. Runs in a process of its own, and when the npm package is made; never in the server.
 */
import { basename, join } from 'node:path';
import { build } from 'esbuild';

/** What the dashboard is made of. */
const SOURCE = join(import.meta.dirname, '../../../web/dashboard');
/** Browsers of the last two years; they have `light-dark()`, nesting and container queries. */
const BROWSERS = ['chrome125', 'firefox128', 'safari18'];

/** Makes the files: `main.js`, the chunks that it loads, and `main.css`. */
export async function bundleFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { outputFiles } = await build({
    entryPoints: [join(SOURCE, 'main.tsx'), join(SOURCE, 'main.css')],
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    write: false,
    outdir: '/',
    target: BROWSERS,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
    // The signatures of our own modules do not depend on the settings of the server's type check.
    tsconfigRaw: {},
  });
  return new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}
