import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, it } from 'node:test';
import { STORABLE } from '#api/schemas/text.ts';
import { SCHEMAS } from '#api/schemas.ts';
import { NAME_PATTERN } from '#domain/name.ts';
import { startApi } from '#test/api/server.ts';
import { expressionsIn, slowness } from './regular-expressions.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Expressions that are made of a constant, with the constant that is checked in their place. */
const CONSTANTS: Readonly<Record<string, string>> = {
  "new RegExp(STORABLE, 'u')": STORABLE,
  "new RegExp(NAME_PATTERN, 'u')": NAME_PATTERN,
};

/** Expressions that the analysis cannot check, and why they are harmless. */
const HARMLESS: Readonly<Record<string, string>> = {
  '/^::ffff:(?=[\\d.]+$)/': 'it only sees addresses as the kernel writes them',
};

it('every regular expression takes time in proportion to the length of its input', () => {
  const files = globSync(['{src,bin}/**/*.{ts,js}', 'web/**/*.js'], {
    cwd: ROOT,
    exclude: ['**/*.{test,contract}.ts'],
  });
  const expressions = files.flatMap((file) =>
    expressionsIn(file.split(sep).join('/'), readFileSync(join(ROOT, file), 'utf8')),
  );
  assert.ok(expressions.length > 30, 'found the expressions to judge');
  const verdicts = new Map<string, string | undefined>();
  const slow = expressions.flatMap(({ at, text, pattern = CONSTANTS[text], flags }) => {
    if (HARMLESS[text] !== undefined) return [];
    if (pattern === undefined) return [`${at} ${text} is built at run time, so nothing can be proven about it`];
    const key = `${flags} ${pattern}`;
    if (!verdicts.has(key)) verdicts.set(key, slowness(pattern, flags));
    const why = verdicts.get(key);
    return why === undefined ? [] : [`${at} ${text}: ${why}`];
  });
  assert.deepEqual(slow, []);
});

it('every pattern in request schemas takes time in proportion to the length of its input', async (t) => {
  const api = await startApi(t);
  const patterns = patternsIn([SCHEMAS, (await api.http.inject('/api/openapi.json')).json()]);
  assert.ok(patterns.size >= 4, 'found the patterns to judge');
  const slow = [...patterns].flatMap((pattern) => {
    const why = slowness(pattern, 'u');
    return why === undefined ? [] : [`${pattern}: ${why}`];
  });
  assert.deepEqual(slow, []);
});

describe('the search for regular expressions', () => {
  it('finds literals and calls, but no comments or strings that look like them', () => {
    const source = [
      '/** not /this+/ */',
      "const path = 'a/b/c';",
      'const half = a / b / c;',
      'const literal = /(a+)+$/i;',
      "const made = [new RegExp('^x', 'u'), RegExp('y'), RegExp(path)];",
    ].join('\n');
    assert.deepEqual(expressionsIn('src/a.ts', source), [
      { at: 'src/a.ts:4', text: '/(a+)+$/i', pattern: '(a+)+$', flags: 'i' },
      { at: 'src/a.ts:5', text: "new RegExp('^x', 'u')", pattern: '^x', flags: 'u' },
      { at: 'src/a.ts:5', text: "RegExp('y')", pattern: 'y', flags: '' },
      { at: 'src/a.ts:5', text: 'RegExp(path)', pattern: undefined, flags: '' },
    ]);
  });

  it("reports an expression as slow when its time can grow with the square of the input's length, or faster", () => {
    assert.equal(slowness('^ *bearer +(.*\\S) *$', 'i'), '2nd degree polynomial');
    assert.match(slowness('(a+)+$', '') ?? '', /^exponential/);
    assert.equal(slowness('^ *bearer +', 'i'), undefined);
  });
});

/** Every `pattern` anywhere in a value. */
function patternsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'pattern' && typeof inner === 'string') found.add(inner);
    else patternsIn(inner, found);
  }
  return found;
}
