/**
 * Every change by which the API disconnects a publisher, with the expected results, which are the same on any node.
 */
import assert from 'node:assert/strict';
import type { ApiClient, CreatedStream } from '../support/api-client.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import type { TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { get, mediaPlaylistUris } from './viewer.ts';

/** A change that disconnects the publisher. */
export interface Cut {
  /** Completes "a publisher is disconnected when its stream is ...". */
  readonly what: string;
  readonly request: (api: ApiClient, stream: CreatedStream) => Promise<Response>;
  /** The end reason in the log and in the session's record. */
  readonly reason: string;
  /** Matches the reason that the encoder gets. */
  readonly sentence: RegExp;
  /** Whether viewers may watch the rest of the media that was sent. */
  readonly playsOn: boolean;
  /** The reason with which a publisher with the old key is refused afterwards. Undefined when it may publish again. */
  readonly afterwards: RegExp | undefined;
}

/** All changes. */
export const CUTS: readonly Cut[] = [
  {
    what: 'terminated',
    request: (api, { id }) => api.request('DELETE', `/stream/${id}/terminate`),
    reason: 'terminated',
    sentence: /ended the broadcast/,
    playsOn: true,
    afterwards: undefined,
  },
  {
    what: 'given another key',
    request: (api, { id }) => api.request('POST', `/stream/${id}/rotate-key`, {}),
    reason: 'key_rotated',
    sentence: /new stream key/,
    playsOn: true,
    afterwards: /not valid/,
  },
  {
    what: 'suspended',
    request: (api, { id }) => api.request('PATCH', `/stream/${id}/suspended`, { suspended: true }),
    reason: 'suspended',
    sentence: /suspended/,
    playsOn: false,
    afterwards: /suspended/,
  },
  {
    what: 'deleted',
    request: (api, { id }) => api.request('DELETE', `/stream/${id}`),
    reason: 'deleted',
    sentence: /deleted/,
    playsOn: false,
    afterwards: /not valid/,
  },
];

/** How much media the fixture has. */
const FIXTURE_MS = 2000;

/** A stream being published and watched. */
export interface Broadcast extends AsyncDisposable {
  readonly stream: CreatedStream;
  readonly client: RtmpClient;
  /** The URL of a media playlist that a viewer has. */
  readonly playlistUrl: string;
  /** The URL of the same playlist at the server that has the publisher. */
  readonly ownerPlaylistUrl: string;
  /** Sends the next two seconds of media at once. */
  sendMore(): void;
}

/**
 * Publishes two seconds of media at one server, and waits until a viewer at another can watch it. It begins anew, as people do, when a server
 * could not reach the store, or lost the session because of that: on a busy machine either can happen at any moment.
 * @param owner whose stream it is; without it, that of the first server's key
 * @param settings further fields of the stream
 */
export function broadcast(
  publishAt: TestServer,
  watchAt: TestServer,
  owner: ApiClient = publishAt.api,
  settings: object = {},
): Promise<Broadcast> {
  const attempt = () => tryBroadcast(publishAt, watchAt, owner, settings);
  return waitFor(attempt, { what: 'a broadcast that can be watched', timeoutMs: 90_000 });
}

async function tryBroadcast(
  publishAt: TestServer,
  watchAt: TestServer,
  owner: ApiClient,
  settings: object,
): Promise<Broadcast | undefined> {
  const created = await owner.request('POST', '/stream', { name: 'live', profiles: [], ...settings });
  if (created.status === 503) return undefined;
  assert.equal(created.status, 201, await created.clone().text());
  const stream = (await created.json()) as CreatedStream;
  await using parts = new AsyncDisposableStack();
  const client = await publishIfAnswered(publishAt, stream);
  if (client === undefined) return undefined;
  parts.use(client);
  let sentMs = 0;
  const sendMore = () => {
    client.tags(fixtureTags(), sentMs);
    sentMs += FIXTURE_MS;
  };
  sendMore();
  const indexUrl = watchAt.playlistUrl(stream.playbackId);
  const index = await waitFor(async () => client.isClosed || playable(await get(indexUrl)), {
    what: 'the stream to be watched',
  });
  if (index === true) return undefined;
  // A request without directives would be held until the playlist lists two segments.
  const playlistUrl = `${new URL(mediaPlaylistUris(index)[0]!, indexUrl).href}?_HLS_msn=0&_HLS_part=0`;
  // Repeated as a player does after a 503 with Retry-After, because on a busy machine one server may connect to another more slowly than
  // servers wait.
  const played = async () => {
    const { status, headers, body } = await get(playlistUrl);
    if (status === 404) return client.isClosed && 'ended';
    assert.ok(status === 200 || (status === 503 && headers.has('retry-after')), body.toString());
    return status === 200 && 'played';
  };
  if ((await waitFor(played, { what: 'the media playlist' })) === 'ended') return undefined;
  const running = parts.move();
  return {
    stream,
    client,
    playlistUrl,
    ownerPlaylistUrl: playlistUrl.replace(watchAt.url, publishAt.url),
    sendMore,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Asks one server for the change, and checks that the publisher on another is disconnected, and viewers too where required. */
export async function assertCut(cut: Cut, publishAt: TestServer, askAt: TestServer): Promise<void> {
  await using live = await broadcast(publishAt, askAt);
  const { stream, client } = live;
  const answer = await cut.request(askAt.api, stream);
  assert.ok(answer.ok, `${answer.status} ${await answer.text()}`);
  await waitFor(() => client.isClosed, { what: 'the publisher to be disconnected' });
  assert.match(client.statuses().at(-1)!.description, cut.sentence);
  await waitFor(() => endReason(publishAt, stream) === cut.reason, { what: 'the end in the log' });

  for (const url of [live.playlistUrl, askAt.playlistUrl(stream.playbackId)]) {
    const isGone = async () => (await get(url)).status === 404;
    const isPlayed = async () => {
      const { status } = await get(url);
      assert.ok(status === 200 || status === 503, `${status} ${url}`);
      return status === 200;
    };
    if (cut.playsOn) await waitFor(isPlayed, { what: `an answer for ${url}` });
    else await waitFor(isGone, { what: `an end of ${url}` });
  }
  const again = waitFor(() => publishIfAnswered(publishAt, stream), { what: 'an answer to a publisher' });
  if (cut.afterwards === undefined) await (await again)[Symbol.asyncDispose]();
  else
    await assert.rejects(
      again,
      (error) => error instanceof RtmpRefusedError && cut.afterwards!.test(error.status.description),
    );
}

/** Publishes to a stream. Undefined when the server could not reach the store. @throws {RtmpRefusedError} when it refuses the publisher */
async function publishIfAnswered(server: TestServer, { streamKey }: CreatedStream): Promise<RtmpClient | undefined> {
  try {
    return await RtmpClient.publish(server.rtmpPort, streamKey);
  } catch (error) {
    if (error instanceof RtmpRefusedError && /try again in a moment/.test(error.status.description)) return undefined;
    throw error;
  }
}

/** Why the stream's session ended, as a server's log has it. */
export function endReason(server: TestServer, { id }: { readonly id: string }): string | undefined {
  for (const line of server.logLines) {
    const { streamId, msg, reason } = JSON.parse(line) as Record<string, string>;
    if (streamId === id && msg === 'session ended') return reason;
  }
  return undefined;
}

function playable({ status, body }: { readonly status: number; readonly body: Buffer }): string | undefined {
  return status === 200 ? body.toString() : undefined;
}
