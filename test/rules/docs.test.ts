import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { BEAT_MS } from '#live/node-lease.ts';
import { referenceFiles } from '../../docs/generate.ts';

const FILES = await referenceFiles();
const ROOT = join(import.meta.dirname, '../..');
const PAGES = globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: ROOT });
const pageText = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

describe('the docs', () => {
  for (const [name, text] of Object.entries(FILES)) {
    it(`have a reference/${name} that agrees with the code; node docs/generate.ts writes it`, () => {
      assert.equal(pageText(join('docs/reference', name)), text);
    });
  }

  it('name only settings and metrics that exist', () => {
    const known = Object.values(FILES).join('\n');
    const strangers = PAGES.flatMap((page) =>
      [...pageText(page).matchAll(/\b(?:MILLRACE_[A-Z_]*[A-Z]|millrace_[a-z_]+_(?:count|total|bytes|seconds))\b/g)]
        .filter(([name]) => !known.includes(`\`${name}\``))
        .map(([name]) => `${page}: ${name}`),
    );
    assert.deepEqual(strangers, []);
  });

  it('say how old the number of viewers at another server may be, as the code does', () => {
    const ageS = BEAT_MS / 1000;
    assert.ok(
      pageText('docs/4-operations.md').includes(
        `The number of viewers of a stream on another server is up to ${ageS} s old`,
      ),
    );
    assert.ok(pageText('docs/7-streams-and-sessions.md').includes(`at another server is up to ${ageS} seconds old`));
  });

  it('are all listed in the README', () => {
    const readme = pageText('README.md');
    const unlisted = globSync('docs/*.md', { cwd: ROOT }).filter((page) => !readme.includes(`](${page}) |`));
    assert.deepEqual(unlisted, []);
  });

  it('link only to files that exist', () => {
    const dead = PAGES.flatMap((page) =>
      [...pageText(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
        .filter(([, target]) => !existsSync(join(ROOT, dirname(page), target!)))
        .map(([, target]) => `${page}: ${target}`),
    );
    assert.deepEqual(dead, []);
  });
});
