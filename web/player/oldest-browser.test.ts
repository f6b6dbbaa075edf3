import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** What Safari 15.4 and the other browsers of March 2022 do not have, as it is written in code. Safari has some of it only from 17.4 on. */
const NEWER = [
  'Promise.withResolvers',
  'Promise.try',
  'AbortSignal.timeout',
  'AbortSignal.any',
  '.toSorted(',
  '.toReversed(',
  '.toSpliced(',
  '.groupBy(',
  '.fromAsync(',
  '.isSubsetOf(',
  '.isDisjointFrom(',
  '.union(',
  '.intersection(',
  '.difference(',
  '.canParse(',
  '.toBase64(',
  '.throwIfAborted(',
  '.checkVisibility(',
  'requestIdleCallback',
  'popover',
  '(?<=',
  '(?<!',
];

test('the scripts of the player use nothing that is newer than Safari 15.4', () => {
  const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.js'));
  assert.ok(names.length > 10);
  const found = names.flatMap((name) => {
    const code = readFileSync(new URL(name, import.meta.url), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*/gm, '');
    return NEWER.filter((newer) => code.includes(newer)).map((newer) => `${name}: ${newer}`);
  });
  assert.deepEqual(found, []);
});
