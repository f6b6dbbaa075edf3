/**
 * Attacks that have brought down other RTMP servers. The cases of the parsers are in the tests beside the parsers.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Publication } from '#ingest/ingest.ts';
import { encodeAmf0 } from '#media/rtmp/amf0.ts';
import { ChunkWriter } from '#media/rtmp/chunk-writer.ts';
import { commandMessage, MESSAGE, USER_CONTROL, userControl } from '#media/rtmp/message.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { GOOD_KEY } from '../support/recording-gate.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startTestRtmpServer, type TestRtmpServer } from '../support/rtmp-server.ts';
import { waitFor } from '../support/wait-for.ts';

const TAGS = fixtureTags();

/**
 * Runs `attack` beside another publisher, and asserts that the attacker is disconnected and the other publisher is not affected.
 * @param fault why the attacker's connection ended, as logged
 */
async function survives(
  fault: string,
  attack: (client: RtmpClient, server: TestRtmpServer) => Promise<void>,
): Promise<void> {
  await using server = await startTestRtmpServer();
  await using bystander = await RtmpClient.publish(server.port, GOOD_KEY);
  const publication = server.gate.publication;
  bystander.tags(TAGS.slice(0, 20));
  await using attacker = await RtmpClient.open(server.port);
  await attack(attacker, server);
  await attacker.closed();
  const isLogged = () => server.logLines.some((line) => line.includes(`"${fault}"`));
  await waitFor(isLogged, { what: `${fault} in the log` });
  bystander.tags(TAGS.slice(20));
  await server.gate.until('the other publisher’s media', () => publication.of('video').length === 50);
  assert.deepEqual(publication.ends, []);
}

const raw = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('one connection and nothing else ends when it', { concurrency: true }, () => {
  it('speaks another protocol', () =>
    survives('handshake_invalid', async (client) => client.raw(Buffer.from('GET / HTTP/1.1\r\n\r\n'))));

  it('sends its handshake one byte at a time (slowloris)', () =>
    survives('handshake_timeout', async (client, server) => {
      client.raw(Buffer.of(3));
      for (let step = 0; step < 5 && !client.isClosed; step++) {
        await server.advance(1000);
        client.raw(Buffer.of(0));
      }
    }));

  it('finishes the handshake and then sends nothing', () =>
    survives('publish_timeout', async (client, server) => {
      await client.handshake();
      await server.advance(10_000);
    }));

  it('keeps sending messages but never publishes', () =>
    survives('publish_timeout', async (client, server) => {
      await client.handshake();
      await client.connect();
      for (let step = 0; step < 10 && !client.isClosed; step++) {
        await server.advance(1000);
        client.send(userControl(USER_CONTROL.pingRequest, step));
      }
    }));

  it('declares a message larger than is allowed before a publish is accepted', () =>
    survives('message_too_large', async (client) => {
      await client.handshake();
      client.raw(raw('03 000000 010001 14 00000000'));
    }));

  it('declares a message of 16 MB as a publisher (red5#456)', () =>
    survives('message_too_large', async (client) => {
      await client.handshake();
      await client.connect();
      await client.publish(GOOD_KEY);
      client.raw(raw('04 000000 ffffff 09 01000000'));
    }));

  it('sets a chunk size of 1 (red5#475)', () =>
    survives('chunk_size_out_of_bounds', async (client) => {
      await client.handshake();
      client.raw(raw('02 000000 000004 01 00000000 00000001'));
    }));

  it('sends an unknown AMF type (node-rtsp-rtmp-server#2)', () =>
    survives('amf_invalid', async (client) => {
      await client.handshake();
      client.send(commandMessage(Buffer.of(0xfe), 0));
    }));

  it('sends an application full of slashes, in which a regular expression could take quadratic time', () =>
    survives('command_invalid', async (client) => {
      await client.handshake();
      const object = new Map([['app', `live${'/'.repeat(60_000)}x`]]);
      for (let index = 0; index < 100 && !client.isClosed; index++) client.command('connect', object);
    }));

  it('connects twice, because no answer is larger than the one to connect', () =>
    survives('command_invalid', async (client) => {
      await client.handshake();
      await client.connect();
      client.command('connect', new Map([['app', 'live']]));
    }));

  it('publishes before it connects', () =>
    survives('command_invalid', async (client) => {
      await client.handshake();
      client.command('publish', null, GOOD_KEY, 'live');
    }));

  it('floods with pings', () =>
    survives('flood', async (client) => {
      await client.handshake();
      for (let index = 0; index < 600; index++) client.send(userControl(USER_CONTROL.pingRequest, index));
    }));

  const SET_CHUNK_SIZE = raw('02 000000 000004 01 00000000 00001000');
  const BEGIN_AND_ABORT = Buffer.concat([
    raw('04 000000 00fa00 09 01000000'),
    Buffer.alloc(128),
    raw('02 000000 000004 02 00000000 00000004'),
  ]);
  for (const [what, bytes] of [
    ['Set Chunk Size', SET_CHUNK_SIZE],
    ['Abort of a message it has begun', BEGIN_AND_ABORT],
  ] as const) {
    it(`floods with ${what}, which counts like any other message`, () =>
      survives('flood', async (client) => {
        await client.handshake();
        for (let count = 0; count < 600; count++) client.raw(bytes);
      }));

    it(`floods with ${what} as a publisher`, () =>
      survives('flood', async (client) => {
        await client.handshake();
        client.command('connect', new Map([['app', 'live']]));
        await client.publish(GOOD_KEY);
        for (let count = 0; count < 600; count++) client.raw(bytes);
      }));
  }

  it('aborts three messages before it publishes, each of which made the server allocate 64 kB', () =>
    survives('flood', async (client) => {
      await client.handshake();
      client.raw(Buffer.concat(Array.from({ length: 3 }, () => BEGIN_AND_ABORT)));
    }));

  it('aborts eleven messages in a second as a publisher', () =>
    survives('flood', async (client) => {
      await client.handshake();
      client.command('connect', new Map([['app', 'live']]));
      await client.publish(GOOD_KEY);
      client.raw(Buffer.concat(Array.from({ length: 11 }, () => BEGIN_AND_ABORT)));
    }));

  it('sends more commands before it publishes than any encoder', () =>
    survives('flood', async (client, server) => {
      await client.handshake();
      await client.connect();
      for (let count = 0; count < 120 && !client.isClosed; count++) {
        client.command('releaseStream', null, GOOD_KEY);
        // The commands are spread over several seconds, because a new second must not renew the allowance.
        if (count % 20 === 0) await server.advance(1000);
      }
    }));

  it('publishes and stops again and again', () =>
    survives('flood', async (client, server) => {
      await client.handshake();
      await client.connect();
      for (let count = 0; count < 100 && !client.isClosed; count++) {
        client.command('publish', null, GOOD_KEY, 'live');
        client.command('deleteStream', null, 1);
      }
      await client.closed();
      assert.ok(server.gate.publications.length <= 12, `${server.gate.publications.length} publishes`);
    }));

  it('changes its metadata again and again', () =>
    survives('flood', async (client, server) => {
      await client.handshake();
      await client.connect();
      await client.publish(GOOD_KEY);
      const publication = server.gate.publication;
      for (let index = 1; index <= 1000; index++) {
        const properties = new Map([
          ['videocodecid', 7],
          ['videodatarate', index],
        ]);
        client.tag({ type: MESSAGE.data, timestamp: 0, body: encodeAmf0('onMetaData', properties) });
      }
      await client.closed();
      assert.ok(publication.announcements.length <= 500, `${publication.announcements.length} announcements`);
    }));

  it('floods with empty media messages of one byte each', () =>
    survives('flood', async (client) => {
      await client.handshake();
      client.raw(raw('04 000000 000000 09 01000000'));
      client.raw(Buffer.alloc(100_000, 0xc4));
    }));

  it('floods with media of one byte each before it may send any', () =>
    survives('flood', async (client) => {
      await client.handshake();
      client.raw(raw('04 000000 000001 08 01000000 af'));
      client.raw(Buffer.alloc(100_000, Buffer.of(0xc4, 0xaf)));
    }));

  it('changes its configuration again and again, which restarts transcoder and viewers each time', () =>
    survives('flood', async (client, server) => {
      await client.handshake();
      await client.connect();
      await client.publish(GOOD_KEY);
      const publication = server.gate.publication;
      for (let index = 0; index < 1000; index++) {
        client.tag({ type: MESSAGE.audio, timestamp: 0, body: raw(index % 2 === 0 ? 'af 00 1208' : 'af 00 1188') });
      }
      await client.closed();
      assert.ok(publication.tracks.length <= 20, `${publication.tracks.length} tracks`);
      assert.deepEqual(publication.ends, ['connection_lost']);
    }));

  it('sends noise after the handshake, whatever it is', async () => {
    await using server = await startTestRtmpServer();
    await using bystander = await RtmpClient.publish(server.port, GOOD_KEY);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (noise) => {
        await using client = await RtmpClient.open(server.port);
        await client.handshake();
        client.raw(Buffer.from(noise));
        client.end();
      }),
      { numRuns: 40 },
    );
    bystander.tags(TAGS);
    await server.gate.until('the other publisher’s media', () => server.gate.publication.of('video').length === 50);
    assert.doesNotMatch(server.logLines.join(''), /internal_error|handling a publisher failed/);
  });
});

/** The configuration of AAC, after which the smallest AAC frames count as media. */
const AUDIO_CONFIG = { type: MESSAGE.audio, timestamp: 0, body: raw('af 00 1190') };
const tinyAudio = (index: number) => ({ type: MESSAGE.audio, timestamp: index, body: raw('af 01 21') });

describe('a publisher that sends more messages than any encoder', { concurrency: true }, () => {
  it('is not disconnected, but read again only in the next second', async () => {
    await using server = await startTestRtmpServer();
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    client.tag(AUDIO_CONFIG);
    for (let index = 0; index < 4500; index++) client.tag(tinyAudio(index));
    const { packets, ends } = server.gate.publication;
    // One of the 2000 media messages of the first second is the configuration.
    for (const expected of [1999, 3999, 4500]) {
      await server.gate.until(`${expected} packets`, () => packets.length >= expected);
      // Nothing more has come through by the time that another connection has published.
      await using other = await RtmpClient.publish(server.port, GOOD_KEY);
      assert.equal(packets.length, expected);
      other.drop();
      await server.advance(1000);
    }
    assert.deepEqual(ends, []);
  });

  it('has its messages handled in several turns of the event loop', async () => {
    await using server = await startTestRtmpServer();
    let turn = 0;
    const count = () => {
      turn += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    const perTurn = new Map<number, number>();
    let packets = 0;
    const publication: Publication = {
      announce: () => {},
      track: () => {},
      packet: () => {
        packets += 1;
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
      },
      silentFor: () => {},
      end: () => {},
    };
    server.gate.decide = async () => ({ accepted: true, publication });
    await using client = await RtmpClient.publish(server.port, GOOD_KEY);
    const writer = new ChunkWriter();
    const tags = [AUDIO_CONFIG, ...Array.from({ length: 1500 }, (_, index) => tinyAudio(index))];
    const messages = tags.map(({ body, ...tag }) =>
      writer.write({ ...tag, payload: body, streamId: 1, chunkStreamId: 6 }),
    );
    client.raw(Buffer.concat(messages));
    await waitFor(() => packets === 1500, { what: 'all packets' });
    clearImmediate(immediate);
    const most = Math.max(...perTurn.values());
    assert.ok(most <= 2 * 64, `${most} of 1500 messages in one turn of the event loop`);
  });
});

describe('a fault of this service', { concurrency: true }, () => {
  it('in a publication ends that connection only, and is logged', () =>
    survives('internal_error', async (client, server) => {
      const broken: Publication = {
        announce: () => {},
        track: () => {},
        packet: () => {
          throw new Error('a bug');
        },
        silentFor: () => {},
        end: () => {
          throw new Error('another bug');
        },
      };
      server.gate.decide = async () => ({ accepted: true, publication: broken });
      await client.handshake();
      await client.connect();
      await client.publish(GOOD_KEY);
      client.tags(TAGS);
      await client.closed();
      const errors = server.logLines.filter((line) => line.includes('"level":50'));
      assert.deepEqual(
        errors.map((line) => /a bug|another bug/.exec(line)?.[0]),
        ['a bug', 'another bug'],
      );
    }));
});

describe('the number of connections', { concurrency: true }, () => {
  const filled = async (overrides: Parameters<typeof startTestRtmpServer>[0], fault: string) => {
    await using server = await startTestRtmpServer(overrides);
    await using first = await RtmpClient.open(server.port);
    await using second = await RtmpClient.open(server.port);
    await Promise.all([first.handshake(), second.handshake()]);
    await using third = await RtmpClient.open(server.port);
    await third.closed();
    assert.equal(first.isClosed || second.isClosed, false);
    await waitFor(() => server.logLines.some((line) => line.includes(`"fault":"${fault}","count":1`)), {
      what: 'a count in the log',
    });
    // A place that becomes free is given to the next connection.
    first.drop();
    await waitFor(
      async () => {
        await using next = await RtmpClient.open(server.port);
        return await next.handshake().then(
          () => true,
          () => false,
        );
      },
      { what: 'a place' },
    );
  };

  it('is limited', () => filled({ rtmpMaxConnections: 2 }, 'too_many_connections'));
  it('is limited from one address', () => filled({ rtmpMaxPerAddress: 2 }, 'too_many_from_one_address'));
  it('is limited before a publish is accepted', () =>
    filled({ rtmpMaxUnauthenticated: 2 }, 'too_many_unauthenticated'));

  it('before a publish is accepted does not include publishers', async () => {
    await using server = await startTestRtmpServer({ rtmpMaxUnauthenticated: 1 });
    await using first = await RtmpClient.publish(server.port, GOOD_KEY);
    await using second = await RtmpClient.publish(server.port, GOOD_KEY);
    await using third = await RtmpClient.publish(server.port, GOOD_KEY);
    assert.equal(server.gate.publications.length, 3);
    assert.equal(first.isClosed || second.isClosed || third.isClosed, false);
    third.send({ type: MESSAGE.audio, timestamp: 0, streamId: 1, chunkStreamId: 4, payload: Buffer.alloc(0) });
  });
});
