import assert from 'node:assert/strict';
import { test } from 'node:test';

// The player is JavaScript, so that browsers load it as it is.
const load = (name: string): Promise<unknown> => import(new URL(name, import.meta.url).href);
const { absenceOf } = (await load('wait-for-stream.js')) as {
  absenceOf: (status: number, code: string | undefined) => string;
};
const { OFFLINE_WORDINGS } = (await load('state.js')) as { OFFLINE_WORDINGS: Record<string, object> };

const ANSWERS = [
  [404, 'stream_not_live', 'offline'],
  [503, 'playlist_timeout', 'offline'],
  [503, 'too_many_viewers', 'full'],
  [401, 'playback_unauthorized', 'refused'],
  [403, 'origin_not_allowed', 'elsewhere'],
  [503, 'playback_check_failed', 'unchecked'],
  [429, 'too_many_attempts', 'throttled'],
  [503, undefined, 'unreachable'],
  [502, undefined, 'unreachable'],
] as const;

for (const [status, code, absence] of ANSWERS) {
  test(`the answer ${status} ${code ?? 'of a proxy'} is shown as ${absence}`, () => {
    assert.equal(absenceOf(status, code), absence);
    assert.ok(absence === 'offline' || OFFLINE_WORDINGS[absence] !== undefined);
  });
}
