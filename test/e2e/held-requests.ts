/**
 * Requests for what comes next in a broadcast, which servers hold for as long as a test needs.
 */
import assert from 'node:assert/strict';
import type { MediaPlaylist } from '../support/hls-playlist.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Broadcast } from './cuts.ts';
import { get } from './viewer.ts';

/**
 * The least time by which the listed media is ahead of the clock. With another two seconds, and a part that is not listed yet, it is still
 * less than the ten seconds by which a publisher may be ahead.
 */
const AHEAD_MS = 5500;

/** Requests that are being held. */
export interface HeldRequests<Answered> {
  /** Rejects when one of the requests fails. */
  readonly answers: Promise<readonly Answered[]>;
  /** Waits for a condition. Returns whether it was met before any of the requests was answered. */
  until(condition: () => Promise<boolean>, what: string): Promise<boolean>;
}

/**
 * Sends requests for what comes next, and waits until they are seen to be held. They are sent again when one is answered before that,
 * because the machine stood still for longer than the media lasts that was sent ahead of the clock.
 * @param send sends the requests. It is called with the newest playlist of the owner
 * @param areHeld whether servers hold them as expected
 */
export async function holdRequests<Answered>(
  live: Broadcast,
  send: (playlist: MediaPlaylist) => readonly Promise<Answered>[],
  areHeld: () => Promise<boolean>,
): Promise<HeldRequests<Answered>> {
  for (const deadlineMs = performance.now() + 120_000; ; ) {
    let isAnswered = false;
    const requests = send(await giveHeadStart(live)).map((request) =>
      request.finally(() => {
        isAnswered = true;
      }),
    );
    const answers = Promise.all(requests);
    const until = async (condition: () => Promise<boolean>, what: string) => {
      await waitFor(async () => isAnswered || (await condition()), { what });
      return !isAnswered;
    };
    if (await until(areHeld, 'the requests to be held')) return { answers, until };
    await answers;
    assert.ok(performance.now() < deadlineMs, 'requests for what comes next are held');
  }
}

/**
 * Publishes media ahead of the clock. Otherwise the server would soon show something in place of the media that does not come, and answer
 * requests for the next part.
 * @returns the owner's playlist with that media
 */
async function giveHeadStart(live: Broadcast): Promise<MediaPlaylist> {
  const isAhead = async () => {
    const playlist = readMediaPlaylist((await get(live.ownerPlaylistUrl)).body.toString());
    if (endOf(playlist) > Date.now() + AHEAD_MS) return playlist;
    live.sendMore();
    await live.client.heard();
    return undefined;
  };
  return await waitFor(isAhead, { what: 'media ahead of the clock' });
}

/** When the last listed part ends, in milliseconds since the Unix epoch. */
function endOf({ segments }: MediaPlaylist): number {
  const from = segments.findLastIndex(({ programDateTime }) => programDateTime !== undefined);
  const lengthsS = segments
    .slice(from)
    .map(({ uri, durationS, parts }) =>
      uri === undefined ? parts.reduce((sum, each) => sum + each.durationS, 0) : durationS,
    );
  return Date.parse(segments[from]!.programDateTime!) + 1000 * lengthsS.reduce((sum, each) => sum + each, 0);
}
