/**
 * What the owner of a stream is told when an encoder is refused or lost. Encoders themselves do not show why.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { PublishRefusedError, startPublisher } from '../support/publisher.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

interface AttemptEvent {
  readonly type: string;
  readonly streamId: string;
  readonly payload: { readonly reason: string; readonly encoder?: string; readonly connectedAt?: number };
}

/** Collects the events of the server that its event stream sends from now on. */
async function followEvents(server: TestServer): Promise<{ readonly events: readonly AttemptEvent[]; close(): void }> {
  const closing = new AbortController();
  const { body } = await fetch(`${server.url}/api/event/stream`, {
    headers: { authorization: `Bearer ${server.apiKey}` },
    signal: closing.signal,
  });
  const events: AttemptEvent[] = [];
  let text = '';
  const read = async () => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const messages = text.split('\n\n');
      text = messages.pop()!;
      for (const message of messages) {
        const data = /^data: (.*)$/m.exec(message)?.[1];
        if (data !== undefined) events.push(JSON.parse(data));
      }
    }
  };
  void read().catch(() => {});
  return { events, close: () => closing.abort() };
}

suite('an encoder that fails', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server[Symbol.asyncDispose]());

  test('is named at once in the event stream and in the list, whatever is wrong with its key', async (t) => {
    const stream = await server.api.createStream({ name: 'show', profiles: [] });
    const followed = await followEvents(server);
    t.after(() => followed.close());
    const mistaken: Record<string, string> = {
      key_is_playback_id: server.rtmpUrl(stream.playbackId),
      key_is_stream_id: server.rtmpUrl(stream.id),
      key_not_alone: server.rtmpUrl(`"${stream.streamKey}"`),
      address_invalid: server.rtmpUrl(stream.streamKey).replace('/live/', '/stream/'),
      key_unknown: server.rtmpUrl('my-key'),
    };
    for (const url of Object.values(mistaken)) await assert.rejects(startPublisher({ url }), PublishRefusedError);
    await server.api.request('POST', `/stream/${stream.id}/rotate-key`);
    await assert.rejects(startPublisher({ url: server.rtmpUrl(stream.streamKey) }), PublishRefusedError);

    const reasons = [...Object.keys(mistaken), 'key_replaced'];
    const ofStream = reasons.filter((reason) => reason !== 'key_unknown');
    const refused = () => followed.events.filter(({ type }) => type === 'publish.refused');
    await waitFor(() => refused().length >= ofStream.length, { what: 'an event for each attempt' });
    assert.deepEqual(
      refused().map(({ payload, streamId }) => [payload.reason, streamId]),
      ofStream.map((reason) => [reason, stream.id]),
    );
    assert.match(refused()[0]?.payload.encoder ?? '', /^FMLE|^Lavf|^LNX/);
    const listed = await server.api.request('GET', '/attempt');
    const attempts = (await listed.json()) as { reason: string; isFromHere: boolean }[];
    assert.deepEqual(
      attempts.map(({ reason, isFromHere }) => [reason, isFromHere]).reverse(),
      reasons.map((reason) => [reason, true]),
    );
    const told = JSON.stringify([followed.events, attempts, server.logLines]);
    for (const secret of [stream.streamKey, server.apiKey, 'my-key']) assert.ok(!told.includes(secret));
  });

  test('is told apart from one that stops by itself when its connection is lost', async (t) => {
    const stream = await server.api.createStream({ name: 'show', profiles: [] });
    const followed = await followEvents(server);
    t.after(() => followed.close());
    const disconnected = () => followed.events.filter(({ type }) => type === 'publish.disconnected');
    const countOf = (wanted: string) => followed.events.filter(({ type }) => type === wanted).length;
    const publish = () => startPublisher({ url: server.rtmpUrl(stream.streamKey) });
    const first = await publish();
    await waitFor(() => countOf('session.started') === 1, { what: 'a session' });
    await first.stop();
    await waitFor(() => countOf('session.ended') === 1, { what: 'the end' });
    assert.deepEqual(disconnected(), []);
    const second = await publish();
    await waitFor(() => countOf('session.started') === 2, { what: 'another session' });
    await second.kill();
    await waitFor(() => disconnected().length > 0, { what: 'the lost connection' });
    await using publisher = await publish();
    await waitFor(() => countOf('stream.started') === 3, { what: 'the return' });
    await server.api.request('PATCH', `/stream/${stream.id}`, { suspended: true });
    await publisher.ended;
    await waitFor(() => disconnected().length > 1, { what: 'the suspension' });
    assert.deepEqual(
      disconnected().map(({ payload }) => payload.reason),
      ['connection_lost', 'stream_suspended'],
    );
    assert.ok(disconnected().every(({ payload }) => payload.connectedAt! > stream.createdAt));
  });
});
