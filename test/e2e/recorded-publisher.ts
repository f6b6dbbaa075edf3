/**
 * A publisher that keeps sending, with a record of when a server accepted it and when it was disconnected.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { fixtureTags } from '../support/flv-file.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { waitFor } from '../support/wait-for.ts';
import { beatsBetween, type ProxiedNode, type ProxiedNodes } from './cluster-nodes.ts';

/** The interval of its messages, shorter than the time after which a server considers a publisher silent. */
const SPEAK_EVERY_MS = 500;

/** A publisher that was accepted. Disposing it closes its connection. */
export interface RecordedPublisher extends AsyncDisposable {
  readonly client: RtmpClient;
  /** By the clock of the machine, in milliseconds. */
  readonly acceptedAt: number;
  /** When its connection was closed or it unpublished. Infinite before that. */
  readonly goneAt: number;
  /** Unpublishes. */
  unpublish(): void;
  /** Sends nothing until called again. */
  speak(isSpeaking: boolean): void;
}

/** Publishes two seconds of media, and keeps sending from then on. Undefined when the server does not accept the publisher. */
export async function publish(rtmpPort: number, streamKey: string): Promise<RecordedPublisher | undefined> {
  let client: RtmpClient;
  try {
    client = await RtmpClient.publish(rtmpPort, streamKey);
  } catch {
    return undefined;
  }
  const acceptedAt = Date.now();
  let goneAt = Number.POSITIVE_INFINITY;
  let isSpeaking = true;
  const speaking = setInterval(() => isSpeaking && client.tag(fixtureTags()[0]!), SPEAK_EVERY_MS);
  const gone = () => {
    clearInterval(speaking);
    goneAt = Math.min(goneAt, Date.now());
  };
  if (client.isClosed) gone();
  client.socket.once('close', gone);
  client.tags(fixtureTags());
  return {
    client,
    acceptedAt,
    get goneAt() {
      return goneAt;
    },
    unpublish() {
      gone();
      client.unpublish(streamKey);
    },
    speak(speaks) {
      isSpeaking = speaks;
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** Publishes as soon as a server accepts the publisher. */
export function publishSoon(rtmpPort: number, streamKey: string): Promise<RecordedPublisher> {
  return waitFor(() => publish(rtmpPort, streamKey), { what: 'the publisher to be accepted' });
}

/**
 * Asserts with the records that two servers had a publisher of the same stream for no longer than one beat of a lease.
 * @param from when the server whose publisher had to go was running and could reach the database, by the clock of the machine
 */
export async function assertOneAtATime(
  t: TestContext,
  publishers: readonly RecordedPublisher[],
  { cluster, loser, from }: { readonly cluster: ProxiedNodes; readonly loser: ProxiedNode; readonly from: number },
): Promise<void> {
  const since = Math.max(from, ...publishers.map(({ acceptedAt }) => acceptedAt));
  const until = Math.min(replacedAt(loser, from), ...publishers.map(({ goneAt }) => goneAt));
  t.diagnostic(`two publishers for ${Math.max(0, until - since)} ms`);
  const beats = await beatsBetween(cluster, loser, [since, until]);
  assert.ok(beats <= 1, `two publishers for ${beats} beats, ${until - since} ms`);
}

/** When a server disconnected a publisher because there was another one, by its log, which is exact even if this process was held up. */
function replacedAt({ server }: ProxiedNode, from: number): number {
  const times = server.logLines
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ msg, code }) => msg === 'publisher ended' && code === 'replaced_by_new_publisher')
    .map(({ time }) => Date.parse(time!));
  return times.find((time) => time >= from) ?? Number.POSITIVE_INFINITY;
}
