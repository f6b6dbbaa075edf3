/**
 * Bundles the dashboard for browsers. Runs in a child process of the server, and when the npm package is built; never in the server
 * process.
 */
import { basename, join } from 'node:path';
import { build } from 'esbuild';

/** The folder of the dashboard's sources. */
const SOURCE = join(import.meta.dirname, '../../../web/dashboard');
/** The browsers of the last two years, which have `light-dark()`, nesting and container queries. */
const BROWSERS = ['chrome125', 'firefox128', 'safari18'];

/** Makes the files by their names: `main.js`, the chunks that it loads, and `main.css`. @throws the errors of esbuild */
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
    // The output must not depend on the tsconfig.json of the server.
    tsconfigRaw: {},
  });
  return new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}
