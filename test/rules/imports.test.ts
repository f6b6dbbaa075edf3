import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, it } from 'node:test';
import { importRings, importsOf, importViolations } from './import-rules.ts';

const SRC = join(import.meta.dirname, '../../src');
const TEST_FILE = /\.(test|contract)\.ts$/;

/** The text of every file below `src/`, by its path with forward slashes. */
const source: ReadonlyMap<string, string> = new Map(
  globSync('**/*.ts', { cwd: SRC }).map((file) => [file.split(sep).join('/'), readFileSync(join(SRC, file), 'utf8')]),
);

it('there are source files to check', () => assert.ok(source.size > 100));

it('every import in src/ points in the direction that the architecture allows', () => {
  const violations = [...source].flatMap(([path, text]) => importViolations(path, text));
  assert.equal(violations.map(({ at, rule }) => `${at} ${rule}`).join('\n'), '');
});

it('no file in src/ imports itself through others, not even types', () => {
  const imports = new Map(
    [...source].filter(([path]) => !TEST_FILE.test(path)).map(([path, text]) => [path, importsOf(path, text)]),
  );
  assert.deepEqual(importRings(imports), []);
});

describe('the search for rings', () => {
  it('finds the shortest ring, including type-only imports', () => {
    const imports = new Map([
      ['a/x.ts', importsOf('a/x.ts', `import type { Y } from './y.ts';\nexport { Z } from '#b/z.ts';`)],
      ['a/y.ts', importsOf('a/y.ts', `import { z } from '#b/other.ts';`)],
      ['b/z.ts', importsOf('b/z.ts', `import fs from 'node:fs';\nconst x = await import('#a/x.ts');`)],
    ]);
    assert.deepEqual(importRings(imports), [['a/x.ts', 'b/z.ts']]);
  });

  it('finds no ring where several paths lead to the same file', () => {
    const imports = new Map([
      ['a.ts', ['b.ts', 'c.ts']],
      ['b.ts', ['d.ts']],
      ['c.ts', ['d.ts']],
      ['d.ts', []],
    ]);
    assert.deepEqual(importRings(imports), []);
  });
});

describe('the import rules', () => {
  const refused: readonly [why: string, path: string, text: string, rule: RegExp][] = [
    ['an import to a row above', 'hls/packager.ts', `import { x } from '#live/live.ts';`, /hls must not know live/],
    ['a type-only one too', 'lib/a.ts', `import type { Id } from '#domain/ids.ts';`, /lib must not know domain/],
    ['one inside a type', 'lib/a.ts', `let id: import('#domain/ids.ts').Id;`, /lib must not know domain/],
    ['an import within a row', 'api/routes.ts', `import { x } from '#origin/caching.ts';`, /share a row/],
    ['a re-export', 'ingest/ingest.ts', `export * from '#hls/hls.ts';`, /share a row/],
    ['a side-effect import', 'store/store.ts', `import '#live/live.ts';`, /store must not know live/],
    ['a dynamic import', 'media/nal.ts', `await import('#store/store.ts');`, /media must not know store/],
    ['an unknown folder', 'live/a.ts', `import { x } from '#utils/x.ts';`, /no place/],
    ['a whole HTTP client', 'cli/a.ts', `import {\n  createServer,\n} from 'node:http';`, /loads a whole HTTP client/],
    ['a climbing path', 'ingest/rtmp/a.ts', `import { x } from '../ingest.ts';`, /climbs/],
    ['a # path inside a folder', 'hls/a.ts', `import { x } from '#hls/hls.ts';`, /write '\.\/hls\.ts'/],
    ['a ./ path across folders', 'app.ts', `import { x } from './hls/hls.ts';`, /write '#hls\/hls\.ts'/],
    ['test support in a server file', 'live/a.ts', `import { x } from '#test/support/tracks.ts';`, /no place/],
    [
      'an implementation named elsewhere',
      'live/a.ts',
      `import { x } from '#ingest/rtmp/server.ts';`,
      /implementations/,
    ],
    [
      'a neighbour of a list file naming an implementation',
      'store/a.ts',
      `import './engines/sqlite.ts';`,
      /implementations/,
    ],
    ['the server importing FFmpeg’s folder', 'transcode/a.ts', `import './worker/av.ts';`, /implementations/],
    ['the composition root doing so', 'app.ts', `import '#transcode/worker/main.ts';`, /implementations/],
    ['the FFmpeg binding', 'transcode/passthrough.ts', `import { Codec } from 'node-av/lib';`, /FFmpeg/],
    ['the environment', 'http/a.ts', 'const a = process.env.HOME;', /process\.env/],
    ['the environment by import', 'http/a.ts', `import { env } from 'node:process';`, /process\.env/],
    ['the wall clock', 'live/a.ts', 'const now = new Date();', /Clock/],
    ['the monotonic clock', 'live/a.ts', 'const now = performance.now();', /Clock/],
    ['an exit', 'app.ts', 'process.exit(1);', /only cli/],
    ['an exit code', 'app.ts', 'process.exitCode = 1;', /only cli/],
  ];
  for (const [why, path, text, rule] of refused) {
    it(`refuse ${why}`, () => {
      const violations = importViolations(path, text);
      assert.equal(violations.length, 1);
      assert.match(violations[0]!.rule, rule);
    });
  }

  const allowed: readonly [why: string, path: string, text: string][] = [
    ['an import to a row below', 'live/a.ts', `import type { Store } from '#store/store.ts';`],
    ['a neighbour', 'hls/packager.ts', `import { cut } from './segmenter.ts';`],
    ['the way up inside a folder', 'ingest/rtmp/server.ts', `import type { PublishGate } from '#ingest/ingest.ts';`],
    ['a list file naming an implementation', 'ingest/protocols.ts', `import { rtmp } from './rtmp/server.ts';`],
    ['a row that is a file', 'app.ts', `import type { Config } from '#config.ts';`],
    ['test support in a test', 'live/a.test.ts', `import { x } from '#test/support/tracks.ts';`],
    ['a command for one database naming it', 'cli/backup.ts', `import '#store/engines/sqlite/backup.ts';`],
    ['a test naming an implementation', 'store/a.test.ts', `import './engines/sqlite.ts';`],
    ['the binding in the worker', 'transcode/worker/a.ts', `import { Codec } from 'node-av/lib';`],
    ['a date from a number', 'hls/tags.ts', 'const text = new Date(epoch).toISOString();'],
    ['prose about what code may not', 'live/a.ts', `/** Not process.env, not Date.now(). */ // from '#cli/a.ts'`],
    ['the real clock in a test', 'live/a.test.ts', 'const started = performance.now();'],
  ];
  for (const [why, path, text] of allowed) {
    it(`allow ${why}`, () => assert.deepEqual(importViolations(path, text), []));
  }

  it('name the line of the specifier', () => {
    const text = `/* two\nlines */\nimport {\n  a,\n} from '#live/live.ts';\n`;
    assert.equal(importViolations('hls/a.ts', text)[0]?.at, 'src/hls/a.ts:5');
  });
});
