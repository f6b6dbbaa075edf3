/**
 * Checks the direction of imports inside `src/`: a pure function of a file's path and text. `docs/2-architecture.md` explains the rules,
 * and `imports.test.ts` applies them to the tree.
 */
import { posix } from 'node:path';

/** A broken rule with its place. */
export interface Violation {
  /** `src/folder/file.ts:line`, as editors and terminals link it. */
  readonly at: string;
  /** A sentence: what is wrong and what to do instead. */
  readonly rule: string;
}

/** The folders from the top down. An import must point to a later row. */
const ROWS: readonly (readonly string[])[] = [
  ['cli'],
  ['app.ts'],
  ['config.ts'],
  ['api', 'dashboard', 'origin', 'pages'],
  ['http'],
  ['live'],
  ['recording'],
  ['ingest', 'transcode', 'hls', 'webhooks'],
  ['store', 'objects'],
  ['media'],
  ['domain', 'telemetry'],
  ['lib'],
];

/**
 * Folders that hold implementations of a contract, each with every file outside the folder that may import from it. A test may always do so.
 */
const IMPLEMENTATIONS: Readonly<Record<string, readonly string[]>> = {
  'api/routes': ['api/routes.ts'],
  'ingest/rtmp': ['ingest/protocols.ts', 'ingest/config.ts'],
  'objects/engines': ['objects/engines.ts'],
  // Backup, restore and their hints are about one database and not about the contract.
  'store/engines': ['store/engines.ts', 'cli/backup.ts', 'cli/restore.ts', 'cli/postgres-tool.ts'],
  'store/migrations': ['store/migrations.ts'],
  'transcode/encoders': ['transcode/encoders.ts'],
  // Started as a process by its path. An import would load FFmpeg into the server.
  'transcode/worker': [],
  'transcode/fork-server': [],
};

/** Names that only some files may use, with the reasons. */
const RESERVED: readonly { readonly names: RegExp; readonly allowedIn: RegExp; readonly rule: string }[] = [
  {
    names: /\bprocess\s*(\.\s*env\b|\[\s*['"]env)|\benv\b[^;]*\bfrom 'node:process'/g,
    allowedIn: /^config\.ts$/,
    rule: 'only config.ts reads process.env; take a setting instead',
  },
  {
    names: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\s*\.\s*(now|timeOrigin)\b|\bprocess\.hrtime\b/g,
    allowedIn: /^lib\/clock\.ts$/,
    rule: 'only lib/clock.ts names the system clock; take a Clock instead',
  },
  {
    names: /\bprocess\s*\.\s*(exit|exitCode|abort|reallyExit)\b/g,
    allowedIn: /^cli\//,
    rule: 'only cli/ ends the process; throw instead',
  },
  {
    names: /^import (?!type\b)[^;]*? from 'node:http';/gm,
    allowedIn: /^$/,
    rule: 'an import of node:http loads a whole HTTP client; take what lib/node-http.ts has',
  },
];

/** Tests are beside the files they test, and may use internals behind contracts and the real clock. */
const TEST_FILE = /\.(test|contract)\.ts$/;

const IMPORT = /\b(?:import|export)\b[^;'"`()]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;

/**
 * Every rule that a file breaks. Type-only imports count, because a reader has to follow them, too.
 * @param path below `src/`, with forward slashes: `hls/packager.ts`
 */
export function importViolations(path: string, text: string): readonly Violation[] {
  const code = withoutComments(text);
  const found: Violation[] = [];
  const report = (index: number, rule: string) =>
    found.push({ at: `src/${path}:${code.slice(0, index).split('\n').length}`, rule });

  for (const match of code.matchAll(IMPORT)) {
    const specifier = (match[1] ?? match[2]) as string;
    // A list of imported names may span several lines, so the line of the specifier is given.
    const index = match.index + match[0].lastIndexOf(specifier);
    for (const rule of specifierRules(path, specifier)) report(index, rule);
  }
  for (const { names, allowedIn, rule } of RESERVED) {
    if (allowedIn.test(path) || TEST_FILE.test(path)) continue;
    for (const match of code.matchAll(names)) report(match.index, rule);
  }
  return found;
}

function specifierRules(path: string, specifier: string): string[] {
  if (/^node-av(\/|$)/.test(specifier)) {
    if (path.startsWith('transcode/worker/')) return [];
    return ['only transcode/worker/ loads the FFmpeg binding; network bytes never meet native code elsewhere'];
  }
  const own = posix.dirname(path);
  if (specifier.startsWith('.')) {
    if (specifier.includes('../')) return [`'${specifier}' climbs; write '#folder/file.ts' across folders`];
    const target = posix.join(own, specifier);
    // The files of src/ itself are rows of their own.
    if (own === '.') return [`'${specifier}' crosses rows; write '#${target}'`];
    return directionRules(path, target);
  }
  if (!specifier.startsWith('#')) return [];
  const target = specifier.slice(1);
  if (target.startsWith('test/') && TEST_FILE.test(path)) return [];
  if (own !== '.' && posix.dirname(target) === own)
    return [`'${specifier}' is in this folder; write './${posix.basename(target)}'`];
  return directionRules(path, target);
}

/** The rules for imports between folders. Both paths are relative to `src/`. */
function directionRules(path: string, target: string): string[] {
  const broken: string[] = [];
  const [from = '', to = ''] = [path, target].map((each) => each.split('/')[0]);
  const [fromRow, toRow] = [from, to].map((folder) => ROWS.findIndex((row) => row.includes(folder)));
  if (toRow === -1) broken.push(`'${to}' has no place in the architecture's rows`);
  else if (from !== to && fromRow === toRow)
    broken.push(`${from} and ${to} share a row and never meet; let app.ts join them`);
  else if (from !== to && fromRow! > toRow!)
    broken.push(`${from} must not know ${to}: imports point only to lower rows`);

  for (const [folder, importers] of Object.entries(IMPLEMENTATIONS)) {
    if (!target.startsWith(`${folder}/`) || path.startsWith(`${folder}/`) || TEST_FILE.test(path)) continue;
    if (importers.includes(path)) continue;
    broken.push(
      `${folder}/ holds implementations: only ${importers.join(', ') || 'the folder itself'} may import them`,
    );
  }
  return broken;
}

/** The files that the imports of a file name, as paths relative to `src/`. Packages are left out. */
export function importsOf(path: string, text: string): readonly string[] {
  return [...withoutComments(text).matchAll(IMPORT)].flatMap(([, from, called]) => {
    const specifier = (from ?? called) as string;
    if (specifier.startsWith('.')) return [posix.join(posix.dirname(path), specifier)];
    return specifier.startsWith('#') ? [specifier.slice(1)] : [];
  });
}

/**
 * Import rings: groups of files of which each leads back to itself through the others. Type-only imports count, because a reader of one file
 * of a ring must know all of them.
 * @param imports what each file imports
 * @returns rings as the shortest way round from one of their files; every file that leads back to itself is in one
 */
export function importRings(imports: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const rings: string[][] = [];
  for (const start of imports.keys()) {
    if (rings.some((ring) => ring.includes(start))) continue;
    const ring = shortestWay(imports, start);
    if (ring !== undefined) rings.push(ring);
  }
  return rings;
}

/** The shortest way from a file back to itself, the file included once; undefined when no import leads back. */
function shortestWay(imports: ReadonlyMap<string, readonly string[]>, start: string): string[] | undefined {
  const reached = new Set<string>();
  let ways: string[][] = [[start]];
  while (ways.length > 0) {
    const longer: string[][] = [];
    for (const way of ways) {
      for (const next of imports.get(way.at(-1)!) ?? []) {
        if (next === start) return way;
        if (reached.has(next)) continue;
        reached.add(next);
        longer.push([...way, next]);
      }
    }
    ways = longer;
  }
  return undefined;
}

/** Blanks comments but keeps all line numbers, so that comments may name what code may not. */
function withoutComments(text: string): string {
  const token = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;
  return text.replace(token, (match) => (match.startsWith('/') ? match.replace(/[^\n]/g, ' ') : match));
}
