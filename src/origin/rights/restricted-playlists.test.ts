import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newMediaPath } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import { MediaProofs } from './media-proofs.ts';
import { ABOVE_TICKET, RestrictedPlaylists } from './restricted-playlists.ts';

/** The segments of a day. */
const DAY = 43_200;
const POLICY = { type: 'jwt' } as const;

function playlistOf(segments: number): PlaylistText {
  const lines = Array.from({ length: segments }, (_, number) => `#EXTINF:2.00000,\nsource/${number}.m4s\n`);
  return new PlaylistText(`#EXTM3U\n#EXT-X-MAP:URI="source/init-0.mp4"\n${lines.join('')}#EXT-X-ENDLIST\n`, true);
}

test('the restricted playlist of a day is made in small pieces, and once for all requests at the same time', async () => {
  const mediaPath = newMediaPath();
  const proofs = new MediaProofs(new Secret('of all nodes'));
  const whole = playlistOf(DAY);
  let made = 0;
  let before = 0;
  let most = 0;
  const restriction = {
    folder: ABOVE_TICKET,
    mediaPath,
    proofOf: (name: string) => {
      if (name !== '') made += 1;
      return proofs.of(POLICY, mediaPath, name);
    },
  };
  let isMade = false;
  const look = (): void => {
    most = Math.max(most, made - before);
    before = made;
    if (!isMade) setImmediate(look);
  };
  const playlists = new RestrictedPlaylists();
  const making = [playlists.long(whole, restriction), playlists.long(whole, restriction)];
  look();
  const [long, same] = await Promise.all(making);
  isMade = true;
  look();
  assert.equal(made, DAY + 1);
  assert.ok(most <= 1000, `${most} names in one turn of the event loop`);
  assert.equal(same, long);
  assert.equal(long!.text, new RestrictedPlaylists().of(whole, restriction).text);
  assert.equal(long!.ended, true);
});

test('the proofs in playlists of a recording are valid for its media, and are made once for all its playlists', () => {
  const path = newMediaPath();
  const proofs = new MediaProofs(new Secret('of all nodes'));
  const names = ['init-0.mp4', ...Array.from({ length: DAY }, (_, number) => `${number}.m4s`), '131072.m4s', '012.m4s'];
  const take = (): number => {
    const { user } = process.cpuUsage();
    const ofRecording = proofs.ofRecording(POLICY, path);
    for (const name of names) ofRecording(name);
    return process.cpuUsage().user - user;
  };
  const first = take();
  const again = Math.min(take(), take());
  assert.ok(again < first / 2, `${first} us, and ${again} us for the second playlist`);
  const ofRecording = proofs.ofRecording(POLICY, path);
  for (const name of names.filter((_, at) => at % 1000 < 3 || at > DAY)) {
    assert.equal(ofRecording(name), proofs.of(POLICY, path, name), name);
    assert.ok(proofs.isRight(ofRecording(name), POLICY, path, name), name);
  }
  const other = proofs.ofRecording({ type: 'webhook' } as never, path);
  assert.notEqual(other('7.m4s'), ofRecording('7.m4s'), 'bound to the policy');
});
