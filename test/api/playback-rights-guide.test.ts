/**
 * Runs the code in `docs/14-playback-rights.md`.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { newPlaybackId, newUserId } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { PlaybackTokens } from '#origin/rights/playback-tokens.ts';
import { someSigningPair } from '#test/support/playback-rights.ts';

interface Guide {
  signPlaybackToken(key: { privateKey: string; publicKey: string }, playbackId: string): Promise<string>;
}

test('a token that is signed by the code in the guide admits a viewer', async () => {
  const guide = await readFile(join(import.meta.dirname, '../../docs/14-playback-rights.md'), 'utf8');
  const [, code] = /```js\n(.*?)```/s.exec(guide)!;
  // In the folder with the packages that it imports.
  const source = code!.replace("'jose'", `'${import.meta.resolve('jose')}'`);
  const written = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as Guide;

  const { key, privateKey } = someSigningPair(newUserId());
  const playbackId = newPlaybackId();
  const token = await written.signPlaybackToken({ privateKey, publicKey: key.publicKey }, playbackId);
  const asked = { keys: [key], address: '198.51.100.1' };
  const verdict = await new PlaybackTokens(systemClock).judge(token, { ...asked, playbackIds: [playbackId] });
  assert.ok(verdict.good);
  assert.ok(Math.abs(verdict.expiresAtMs - Date.now() - 3_600_000) < 60_000);
  const other = await new PlaybackTokens(systemClock).judge(token, { ...asked, playbackIds: [newPlaybackId()] });
  assert.deepEqual(other, { good: false, fault: 'wrong_stream' });
});
