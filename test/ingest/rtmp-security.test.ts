/**
 * What has killed other RTMP servers, tried on this one. The parsers' own cases stand beside the parsers.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Publication } from '#ingest/ingest.ts';
import { commandMessage, MESSAGE, USER_CONTROL, userControl } from '#ingest/rtmp/message.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { GOOD_KEY } from '../support/recording-gate.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startTestRtmpServer, type TestRtmpServer } from '../support/rtmp-server.ts';
import { waitFor } from '../support/wait-for.ts';

const TAGS = fixtureTags();

/**
 * Lets somebody else publish while `attack` runs, and holds that the attacker is gone and the other never noticed.
 * @param fault why the attacker's connection ended, as the log says
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
  const said = () => server.logLines.some((line) => line.includes(`"${fault}"`));
  await waitFor(said, { what: `${fault} in the log` });
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

  it('finishes the handshake and then says nothing', () =>
    survives('publish_timeout', async (client, server) => {
      await client.handshake();
      await server.advance(10_000);
    }));

  it('keeps talking but never publishes', () =>
    survives('publish_timeout', async (client, server) => {
      await client.handshake();
      await client.connect();
      for (let step = 0; step < 10 && !client.isClosed; step++) {
        await server.advance(1000);
        client.send(userControl(USER_CONTROL.pingRequest, step));
      }
    }));

  it('declares a message larger than anybody may send before being let in', () =>
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

  it('sends an AMF type nobody knows (node-rtsp-rtmp-server#2)', () =>
    survives('amf_invalid', async (client) => {
      await client.handshake();
      client.send(commandMessage(Buffer.of(0xfe), 0));
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

  it('changes its configuration again and again, each time a new start for transcoder and viewers', () =>
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

  it('makes us answer more than anybody reads', () =>
    survives('output_not_read', async (client) => {
      await client.handshake();
      const connect = raw('03 000000 00000c 14 00000000 020007636f6e6e656374 0505');
      client.raw(Buffer.concat(Array.from({ length: 450 }, () => connect)));
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
    await server.gate.until('the other’s media', () => server.gate.publication.of('video').length === 50);
    assert.doesNotMatch(server.logLines.join(''), /internal_error|handling a publisher failed/);
  });
});

describe('a fault of ours', { concurrency: true }, () => {
  it('in a publication ends that connection only, and is logged', () =>
    survives('internal_error', async (client, server) => {
      const broken: Publication = {
        announce: () => {},
        track: () => {},
        packet: () => {
          throw new Error('a bug');
        },
        heard: () => {},
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
    await server.advance(1000);
    await waitFor(() => server.logLines.some((line) => line.includes(`"${fault}":1`)), { what: 'a count in the log' });
    // A place that becomes free is given to the next.
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
  it('is limited before a key was shown', () => filled({ rtmpMaxUnauthenticated: 2 }, 'too_many_unauthenticated'));

  it('before a key was shown leaves out those who publish', async () => {
    await using server = await startTestRtmpServer({ rtmpMaxUnauthenticated: 1 });
    await using first = await RtmpClient.publish(server.port, GOOD_KEY);
    await using second = await RtmpClient.publish(server.port, GOOD_KEY);
    await using third = await RtmpClient.publish(server.port, GOOD_KEY);
    assert.equal(server.gate.publications.length, 3);
    assert.equal(first.isClosed || second.isClosed || third.isClosed, false);
    third.send({ type: MESSAGE.audio, timestamp: 0, streamId: 1, chunkStreamId: 4, payload: Buffer.alloc(0) });
  });
});
