import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import type { PublishDecision } from '#ingest/ingest.ts';
import { decodeAmf0 } from '#media/rtmp/amf0.ts';
import {
  controlMessage,
  MESSAGE,
  readUint32,
  readUserControl,
  USER_CONTROL,
  userControl,
} from '#media/rtmp/message.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { GOOD_KEY, refused } from '../support/recording-gate.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startTestRtmpServer } from '../support/rtmp-server.ts';
import { waitFor } from '../support/wait-for.ts';

const TAGS = fixtureTags();
const VIDEO_FRAMES = 50;

describe('a publish over RTMP', { concurrency: true }, () => {
  it('becomes tracks and packets, and ends as unpublished when the encoder stops', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.tags(TAGS);
    client.unpublish(GOOD_KEY);
    const publication = await server.gate.ended();
    client.end();
    await client.closed();

    assert.deepEqual(publication.ends, ['unpublished']);
    assert.equal(publication.request.protocol, 'rtmp');
    assert.equal(publication.request.remoteAddress, '127.0.0.1');
    assert.equal(publication.request.encoder, 'test/1');
    assert.deepEqual(publication.announcements[0]?.kinds, new Set(['video', 'audio']));
    assert.deepEqual(
      publication.tracks.map(({ kind, codec }) => [kind, codec]),
      [
        ['video', 'h264'],
        ['audio', 'aac'],
      ],
    );
    const video = publication.of('video');
    assert.equal(video.length, VIDEO_FRAMES);
    assert.deepEqual(
      video.flatMap(({ keyframe }, index) => (keyframe ? [index] : [])),
      [0, 25],
    );
    assert.ok(video.every(({ dts }, index) => index === 0 || dts > video[index - 1]!.dts));
    // B-frames are shown in another order than they are decoded, each at its own time.
    const shown = video.map(({ pts }) => pts);
    const inOrder = shown.toSorted((a, b) => a - b);
    assert.notDeepEqual(shown, inOrder);
    assert.deepEqual(
      inOrder.map((pts) => pts - inOrder[0]!),
      inOrder.map((_, index) => index * 3600),
    );
    const sent = TAGS.filter(({ type, body }) => type === MESSAGE.video && body.length > 5 && body[1] === 1);
    assert.deepEqual(
      video.map(({ data }) => data),
      sent.map(({ body }) => body.subarray(5)),
    );
    const bytes = publication.packets.reduce((sum, { data }) => sum + data.length, 0);
    const counted = await server.metrics.ingestBytes.get();
    assert.deepEqual(counted.values, [{ labels: { protocol: 'rtmp' }, value: bytes }]);
  });

  for (const [what, end, reason] of [
    ['FCUnpublish', (client: RtmpClient) => void client.command('FCUnpublish', null, GOOD_KEY), 'unpublished'],
    ['deleteStream', (client: RtmpClient) => void client.command('deleteStream', null, 1), 'unpublished'],
    ['closeStream', (client: RtmpClient) => void client.command('closeStream', null), 'unpublished'],
    ['a play command', (client: RtmpClient) => void client.command('play', null, GOOD_KEY), 'connection_lost'],
    ['a close without a command', (client: RtmpClient) => client.end(), 'connection_lost'],
    ['a reset', (client: RtmpClient) => client.drop(), 'connection_lost'],
  ] as const) {
    it(`ends with ${what} as ${reason}, once`, async () => {
      await using server = await startTestRtmpServer();
      await using client = await RtmpClient.publish(server.port, GOOD_KEY);
      client.tags(TAGS.slice(0, 10));
      await server.gate.until('media comes through', () => server.gate.publication.packets.length > 0);
      end(client);
      await server.gate.ended();
      client.drop();
      await server.server[Symbol.asyncDispose]();
      assert.deepEqual(server.gate.publication.ends, [reason]);
    });
  }

  it('can be followed by another on the same connection', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.tags(TAGS.slice(0, 10));
    client.unpublish(GOOD_KEY);
    await server.gate.ended();
    client.command('publish', null, GOOD_KEY, 'live');
    await server.gate.until('the second publish', () => server.gate.publications.length === 2);
    client.tags(TAGS.slice(0, 10));
    await server.gate.until('its tracks', () => server.gate.publication.tracks.length === 2);
  });

  it('can begin with encoders that wait for onFCPublish, which Flash Media Server sent', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.open(server.port);
    await client.handshake();
    await client.connect();
    await client.call('releaseStream', null, GOOD_KEY);
    await client.call('FCPublish', null, GOOD_KEY);
    const codes = () =>
      client.messages.flatMap((message) => {
        const [name, , , information] = message.type === MESSAGE.command ? decodeAmf0(message.payload) : [];
        return name === 'onFCPublish' && information instanceof Map ? [information.get('code')] : [];
      });
    await waitFor(() => codes().length > 0, { what: 'onFCPublish' });
    assert.deepEqual(codes(), ['NetStream.Publish.Start']);
    assert.equal(server.gate.requests.length, 0);
    await client.publish(GOOD_KEY);
  });

  it('has as its key the stream name without its query', async () => {
    await using server = await startTestRtmpServer();
    await using _ = await RtmpClient.publish(server.port, `${GOOD_KEY}?token=x&y`, 'live/?query');
    assert.equal(server.gate.requests[0]?.streamKey.reveal(), GOOD_KEY);
  });

  it('keeps its clock when the 32 bits of its timestamps wrap', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    const shiftMs = 2 ** 32 - 1000;
    client.tags(TAGS, shiftMs);
    client.unpublish(GOOD_KEY);
    const video = (await server.gate.ended()).of('video');
    assert.equal(video.length, VIDEO_FRAMES);
    assert.deepEqual([video[0]?.dts, video.at(-1)!.dts - video[0]!.dts], [shiftMs * 90, 49 * 3600]);
  });

  it('waits while the gate decides, and its connection is not read meanwhile', async () => {
    await using server = await startTestRtmpServer();
    const decided = Promise.withResolvers<void>();
    server.gate.decide = async (_, accept) => {
      await decided.promise;
      return accept();
    };
    await using client = await RtmpClient.open(server.port);
    await client.handshake();
    await client.connect();
    client.command('publish', null, GOOD_KEY, 'live');
    client.tags(TAGS);
    await server.gate.until('the gate is asked', () => server.gate.requests.length === 1);
    // What the server does not read stays with the encoder, except what the buffers of the sockets hold.
    const silence = {
      type: MESSAGE.audio,
      timestamp: 0,
      streamId: 1,
      chunkStreamId: 4,
      payload: Buffer.alloc(1 << 18, 0xaf),
    };
    let sentBytes = 0;
    for (let isTaken = true; isTaken && sentBytes < 64 << 20; ) {
      client.send(silence);
      sentBytes += silence.payload.length;
      if (!client.socket.writableNeedDrain) continue;
      isTaken = await once(client.socket, 'drain', { signal: AbortSignal.timeout(300) }).then(
        () => true,
        () => false,
      );
    }
    assert.ok(sentBytes < 12 << 20, `${sentBytes} bytes were taken`);
    assert.equal(server.gate.publications.length, 0);
    decided.resolve();
    await server.gate.until('everything sent meanwhile', () => {
      const { packets } = server.gate.publications[0] ?? { packets: [] };
      return packets.filter(({ kind }) => kind === 'video').length === VIDEO_FRAMES;
    });
  });

  it('may have frames of megabytes', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.tags(TAGS.slice(0, 5));
    const frame = Buffer.alloc(3 << 20);
    frame.set([0x27, 1, 0, 0, 0]);
    frame.writeUInt32BE(frame.length - 9, 5);
    frame[9] = 0x41; // a slice
    client.tag({ type: MESSAGE.video, timestamp: 5000, body: frame });
    await server.gate.until(
      'the frame',
      () => server.gate.publication.of('video').at(-1)?.data.length === frame.length - 5,
    );
  });

  it('is ended by a second publish on the same connection', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.command('publish', null, GOOD_KEY, 'live');
    await client.closed();
    assert.deepEqual(server.gate.publication.ends, ['connection_lost']);
  });
});

describe('a publisher is refused', { concurrency: true }, () => {
  for (const [code, status] of [
    ['stream_key_invalid', 'NetStream.Publish.Denied'],
    ['stream_key_in_use', 'NetStream.Publish.Denied'],
  ] as const) {
    it(`with the gate's sentence for ${code}, and its connection is closed`, async () => {
      await using server = await startTestRtmpServer();
      const reason = 'This sentence is what the encoder shows.';
      server.gate.decide = async () => refused(code, reason);
      await using client = await RtmpClient.open(server.port);
      await client.handshake();
      await client.connect();
      await assert.rejects(client.publish('any-key'), {
        name: 'RtmpRefusedError',
        status: { level: 'error', code: status, description: reason },
      });
      await client.closed();
      assert.equal(server.gate.publications.length, 0);
    });
  }

  it('although it continues to send and never closes', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.open(server.port, { isDeaf: true });
    await client.handshake();
    await client.connect();
    client.command('publish', null, 'wrong-key', 'live');
    const sending = setInterval(() => client.tags(TAGS.slice(0, 5)), 5);
    try {
      assert.equal((await client.status((code) => code.startsWith('NetStream'))).code, 'NetStream.Publish.Denied');
      await server.advance(10_000);
      await client.closed();
    } finally {
      clearInterval(sending);
    }
  });

  it('when its address does not end in /live, and the gate is not asked', async () => {
    await using server = await startTestRtmpServer();
    for (const [app, name] of [
      ['other', GOOD_KEY],
      ['live', ''],
      ['live', 'x'.repeat(600)],
      [GOOD_KEY, GOOD_KEY],
    ] as const) {
      await assert.rejects(RtmpClient.publish(server.port, name, app), {
        name: 'RtmpRefusedError',
        message: 'refused: NetStream.Publish.Denied',
      });
    }
    assert.equal(server.gate.requests.length, 0);
    const told = server.gate.invalidAddresses.map(({ text, protocol }) => [text.reveal(), protocol]);
    assert.deepEqual(told, [
      [`other/${GOOD_KEY}`, 'rtmp'],
      ['live/', 'rtmp'],
      [`live/${'x'.repeat(512)}`, 'rtmp'],
      [`${GOOD_KEY}/${GOOD_KEY}`, 'rtmp'],
    ]);
  });

  it('for unsupported video and audio codecs, with advice', async () => {
    await using server = await startTestRtmpServer();
    for (const [type, body, hint] of [
      [MESSAGE.video, '907670303901', /^Millrace supports H\.264, HEVC and AV1 video; set the encoder to H\.264\.$/],
      [MESSAGE.audio, '90664c614301', /^Millrace supports AAC and Opus audio; set the encoder to AAC\.$/],
      [MESSAGE.audio, '2ffffb', /AAC/],
    ] as const) {
      await using client = await RtmpClient.publish(server.port, GOOD_KEY);
      client.tag({ type, timestamp: 0, body: Buffer.from(body, 'hex') });
      const status = await client.status((code) => code === 'NetStream.Publish.Denied');
      assert.match(status.description, hint);
      await client.closed();
      assert.deepEqual(server.gate.publication.ends, ['connection_lost']);
      assert.deepEqual(server.gate.publication.causes, [{ code: 'unplayable_media', message: status.description }]);
    }
  });

  it('with the reason when it asks to play', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.open(server.port);
    await client.handshake();
    await client.connect();
    client.command('play', null, 'anything');
    assert.match((await client.status((code) => code === 'NetStream.Play.Failed')).description, /HLS/);
    await client.closed();
  });
});

describe('a publisher is disconnected', { concurrency: true }, () => {
  const REPLACED = { code: 'replaced_by_new_publisher', reason: 'Another publisher took over.' } as const;

  it('in the middle of its media, after it was sent the reason', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.tags(TAGS);
    await server.gate.until('media comes through', () => server.gate.publication.packets.length > 0);
    server.gate.publication.request.disconnect(REPLACED);
    const status = await client.status((code) => code === 'NetStream.Publish.Denied');
    assert.equal(status.description, REPLACED.reason);
    await client.closed();
    assert.deepEqual(server.gate.publication.ends, ['disconnected']);
  });

  it('also when the gate has not answered yet', async () => {
    await using server = await startTestRtmpServer();
    server.gate.decide = async (request, accept) => {
      request.disconnect(REPLACED);
      return accept();
    };
    await assert.rejects(RtmpClient.publish(server.port, GOOD_KEY), {
      status: { level: 'error', code: 'NetStream.Publish.Denied', description: REPLACED.reason },
    });
    assert.deepEqual(server.gate.publication.ends, ['disconnected']);
  });

  it('when the server stops, as a lost connection that may come back', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    await server.server[Symbol.asyncDispose]();
    assert.deepEqual(server.gate.publication.ends, ['connection_lost']);
    await client.status((code) => code === 'NetConnection.Connect.AppShutdown');
    await client.closed();
    await assert.rejects(RtmpClient.open(server.port), { code: 'ECONNREFUSED' });
  });
});

describe('a server that was held up', () => {
  it('does not take connections for silent that sent something meanwhile', async () => {
    await using server = await startTestRtmpServer({ rtmpIdleTimeoutS: 1 });
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    await server.advance(0); // what was heard before has been noted
    await new Promise(setImmediate); // afterwards timers are due before anything is read
    client.tags(TAGS);
    server.holdUp(2000);
    client.unpublish(GOOD_KEY);
    const publication = await server.gate.ended();
    assert.deepEqual(publication.ends, ['unpublished']);
    assert.equal(publication.of('video').length, VIDEO_FRAMES);
  });
});

describe('a connection', { concurrency: true }, () => {
  it('that is silent is pinged, and lost when it stays silent', async () => {
    await using server = await startTestRtmpServer({ rtmpIdleTimeoutS: 20 });
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    const pings = () =>
      client.messages.filter((message) => readUserControl(message)?.event === USER_CONTROL.pingRequest);
    await server.advance(5000);
    await waitFor(() => pings().length === 1, { what: 'a ping' });
    client.send(userControl(USER_CONTROL.pingResponse, 1));
    await server.gate.until('the pong is heard', () => server.gate.publication.silentMs < 5000);
    await server.advance(19_000);
    await waitFor(() => pings().length === 2, { what: 'another ping' });
    assert.deepEqual(server.gate.publication.ends, []);
    await server.advance(20_000);
    await client.closed();
    assert.deepEqual(server.gate.publication.ends, ['connection_lost']);
    assert.ok(server.logLines.some((line) => line.includes('idle_timeout')));
  });

  it('that pings is answered', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.send(userControl(USER_CONTROL.pingRequest, 4711));
    await waitFor(
      () =>
        client.messages.some((message) => {
          const control = message.type === MESSAGE.userControl ? readUserControl(message) : undefined;
          return control?.event === USER_CONTROL.pingResponse && control.value === 4711;
        }),
      { what: 'the pong' },
    );
  });

  it('has its bytes acknowledged as often as it asks', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.send(controlMessage(MESSAGE.windowAcknowledgementSize, 200_000));
    for (let round = 0; round < 12; round++) client.tags(TAGS, round * 2000);
    const acknowledged = () => client.messages.filter(({ type }) => type === MESSAGE.acknowledgement).map(readUint32);
    await waitFor(() => (acknowledged().at(-1) ?? 0) > 200_000, { what: 'acknowledgements' });
    assert.ok(acknowledged().every((bytes) => bytes <= client.socket.bytesWritten));
  });

  it('cannot be listened for on a port that is in use: the server rejects with the system’s error', async () => {
    await using server = await startTestRtmpServer();
    await assert.rejects(startTestRtmpServer({ rtmpPort: server.port }), { code: 'EADDRINUSE' });
  });
});

describe('the log', () => {
  it('states who was accepted or refused and why a publish ended, and never contains the key', async () => {
    await using server = await startTestRtmpServer();
    const planted = 'planted-secret-key-1';
    server.gate.decide = async ({ streamKey }, accept): Promise<PublishDecision> =>
      streamKey.reveal() === planted ? accept() : refused('stream_key_invalid', 'The stream key is not valid.');
    {
      await using client = await RtmpClient.publish(server.port, planted);
      client.unpublish(planted);
      await server.gate.ended();
      client.command(planted, planted);
    }
    await RtmpClient.publish(server.port, `${planted}-not`).catch(() => {});
    await RtmpClient.publish(server.port, planted, planted).catch(() => {});
    await RtmpClient.publish(server.port, `${planted}${'x'.repeat(600)}`).catch(() => {});
    await server.server[Symbol.asyncDispose]();
    const text = server.logLines.join('');
    assert.doesNotMatch(text, /planted/);
    for (const words of ['publisher accepted', 'publishers refused', '"reason":"unpublished"', 'stream_key_invalid']) {
      assert.ok(text.includes(words), words);
    }
  });
});
