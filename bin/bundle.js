/**
 * Makes a bundle of Millrace: its 550 modules and the 540 of its dependencies become some 40 files. The server starts with two thirds of
 * the CPU time from them, and keeps 14 MB less in memory. A bundle is kept beside the compiled code and made again when a file of
 * Millrace or an installed package has changed. Where none can be made, the files themselves run. Stacks name the files in either case.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What the main thread runs, and its threads. Child processes run files that are not bundled. */
const ENTRIES = [
  'cli/main',
  'pages/docs/worker',
  'store/engines/sqlite/worker',
  'recording/reader/worker',
  'recording/storage/worker',
  'recording/writer/worker',
];
/** Native code cannot be bundled, and esbuild finds its program beside itself. */
const EXTERNAL = ['esbuild', 'node-av', 'pg-native'];
const PREFIX = 'bundle-';
const UNFINISHED = '-unfinished';
/** The name of the file of a bundle that lists the names and sizes of all its other files. */
const LIST = 'files.txt';
/**
 * How many bundles are kept, and for how long every bundle is kept after its last start. Parts of a bundle are loaded when they are first
 * needed, so it must outlive the next changes of the source.
 */
const KEPT = 8;
const KEPT_MS = 3_600_000;
/** The age at which an unfinished bundle counts as abandoned. Making one takes about a second of CPU time, but the machine may be busy. */
const ABANDONED_MS = 60_000;

/**
 * Finds the bundle, or makes it, which takes about a second.
 * @param {string} main path of the file that runs without a bundle
 * @param {string} cache folder in which bundles are kept
 * @returns {Promise<string | undefined>} path of the file to run. Undefined when there is no bundle: esbuild does not run here, the folder
 * cannot be written, or another process is making the bundle
 */
export async function bundleOf(main, cache) {
  const source = dirname(dirname(main));
  const bundle = join(cache, PREFIX + fingerprintOf(source));
  const program = join(bundle, `${nameOf(ENTRIES[0])}.js`);
  const unfinished = bundle + UNFINISHED;
  try {
    if (isWhole(bundle)) {
      touch(bundle);
      return program;
    }
    removeOld(cache);
    // Throws when another process is making it.
    mkdirSync(unfinished);
    // Another process may have made the bundle since the first check, and loads its parts when they are first needed.
    if (isWhole(bundle)) {
      rmSync(unfinished, { recursive: true });
      return program;
    }
  } catch {
    return undefined;
  }
  try {
    await build(source, extname(main), unfinished);
    writeFileSync(join(unfinished, LIST), filesIn(unfinished));
    // A bundle that is not whole would be in the way.
    rmSync(bundle, { recursive: true, force: true });
    renameSync(unfinished, bundle);
    return program;
  } catch {
    rmSync(unfinished, { recursive: true, force: true });
    return undefined;
  }
}

/** A text that changes with everything that a bundle is made of. Contents are not read, because a changed file has another size or time. */
function fingerprintOf(source) {
  const root = dirname(source);
  const hash = createHash('sha1').update(`${source} ${process.versions.node}`);
  const add = (path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    hash.update(`\n${path} ${stat?.size} ${stat?.mtimeMs}`);
  };
  add(fileURLToPath(import.meta.url));
  add(`${root}/package.json`);
  // npm writes the first whenever it changes the packages of a clone, and the second where Millrace itself is such a package.
  add(`${root}/node_modules/.package-lock.json`);
  add(join(root, '../.package-lock.json'));
  modulesIn(source).forEach(add);
  return hash.digest('hex').slice(0, 16);
}

/**
 * The paths of all modules in a folder. They are not joined by `node:path`, because V8 would optimize that function, and once its optimizing
 * compiler has run, it keeps 5 MB of memory.
 */
function modulesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return modulesIn(path);
    return /(?<!\.test)\.[jt]s$/.test(entry.name) ? [path] : [];
  });
}

/**
 * Whether a bundle has all its files, each in its listed size. The name of a folder may be on the disk half a minute before the contents of
 * its files, and a power failure in between leaves empty files. An empty program would end at once with exit code 0.
 */
function isWhole(bundle) {
  try {
    return readFileSync(join(bundle, LIST), 'utf8') === filesIn(bundle);
  } catch {
    return false;
  }
}

/** The names and sizes of the files in a bundle, except for the list of them. */
function filesIn(bundle) {
  const names = readdirSync(bundle).filter((name) => name !== LIST);
  return names
    .sort()
    .map((name) => `${name} ${statSync(`${bundle}/${name}`).size}\n`)
    .join('');
}

/** Sets the time of a folder to now, because it is used. */
function touch(folder) {
  const now = new Date();
  utimesSync(folder, now, now);
}

/** Removes bundles that a killed process left unfinished, and those that have not been used for the longest time. */
function removeOld(cache) {
  const bundles = readdirSync(cache)
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => ({ path: join(cache, name), usedAt: statSync(join(cache, name)).mtimeMs }))
    .sort((a, b) => b.usedAt - a.usedAt);
  for (const [index, { path, usedAt }] of bundles.entries()) {
    const isLeft = path.endsWith(UNFINISHED) && Date.now() - usedAt > ABANDONED_MS;
    const isOld = index >= KEPT && Date.now() - usedAt > KEPT_MS;
    if (isLeft || isOld) rmSync(path, { recursive: true, force: true });
  }
}

async function build(source, extension, folder) {
  const esbuild = await import('esbuild');
  const names = new Map(ENTRIES.map((entry) => [join(source, entry + extension), nameOf(entry)]));
  const options = {
    entryPoints: [...names].map(([path, name]) => ({ in: path, out: name })),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'esnext',
    external: EXTERNAL,
    minifyWhitespace: true,
    // Node reads a map only when a stack is shown.
    sourcemap: 'linked',
    sourcesContent: false,
    sourceRoot: pathToFileURL(`${folder}/`).href,
    logLevel: 'silent',
    tsconfigRaw: { compilerOptions: { target: 'esnext', verbatimModuleSyntax: true } },
    // For packages that are CommonJS.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(${JSON.stringify(join(source, '../package.json'))});`,
    },
    plugins: [{ name: 'places', setup: ({ onLoad }) => keepPlaces(onLoad, source, extension, names) }],
  };
  try {
    await esbuild.build(options);
  } finally {
    // Otherwise its process stays for as long as this one.
    await esbuild.stop();
  }
}

/** Replaces `import.meta.url` and the like by the place of the module's own file, and the URL of a thread's module by that of its bundle. */
function keepPlaces(onLoad, source, extension, names) {
  const text = JSON.stringify;
  onLoad({ filter: extension === '.ts' ? /\.ts$/ : /\.js$/ }, ({ path }) => {
    const written = path.startsWith(source) ? readFileSync(path, 'utf8') : '';
    if (!written.includes('import.meta.')) return undefined;
    const contents = written
      .replace(/new URL\('(\.[^']+)', import\.meta\.url\)/g, (whole, specifier) => {
        const name = names.get(resolve(dirname(path), specifier));
        return name === undefined ? whole : `new URL('./${name}.js', import.meta['url'])`;
      })
      .replace(/import\.meta\.resolve\('([^']+)'\)/g, (_, specifier) => text(import.meta.resolve(specifier)))
      .replaceAll('import.meta.url', text(pathToFileURL(path).href))
      .replaceAll('import.meta.filename', text(path))
      .replaceAll('import.meta.dirname', text(dirname(path)));
    return { contents, loader: extension.slice(1) };
  });
}

const nameOf = (entry) => entry.replaceAll('/', '-');
