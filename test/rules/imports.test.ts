import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, it } from 'node:test';
import { importViolations } from './import-rules.ts';

const SRC = join(import.meta.dirname, '../../src');

it('every import in src/ points the way the architecture says', () => {
  const files = globSync('**/*.ts', { cwd: SRC });
  assert.ok(files.length > 0, 'found no source to judge');
  const violations = files.flatMap((file) =>
    importViolations(file.split(sep).join('/'), readFileSync(join(SRC, file), 'utf8')),
  );
  assert.equal(violations.map(({ at, rule }) => `${at} ${rule}`).join('\n'), '');
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
    ['the composition root naming one', 'app.ts', `import { rtmp } from '#ingest/rtmp/server.ts';`],
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
