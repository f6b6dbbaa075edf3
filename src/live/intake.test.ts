import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { PublicationEnd } from '#ingest/ingest.ts';
import { ms } from '#lib/units.ts';
import { packetAt, VIDEO_ID, VIDEO_TRACK } from '#test/support/tracks.ts';
import { Intake } from './intake.ts';

test.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.afterEach(() => mock.timers.reset());

/** An intake that holds a packet because its audio track is not known yet. @param onOpen called when it is given to a session */
function setUp(onOpen: (intake: Intake) => void = () => {}) {
  const ends: PublicationEnd[] = [];
  let written = 0;
  let usedBytes = 0;
  const intake = new Intake(
    {
      onMedia: () => {},
      open: () => {
        onOpen(intake);
        return { setTrack: () => {}, write: () => void written++ };
      },
      bitrateLimitKbps: 0,
      onTooFast: () => {},
      openAccount: () => ({
        get usedBytes() {
          return usedBytes;
        },
        take: (sizeBytes) => {
          usedBytes += sizeBytes;
          return true;
        },
        give: () => {},
        [Symbol.dispose]: () => {
          usedBytes = 0;
        },
      }),
      guard: (work) => work(),
      onEnd: (reason) => ends.push(reason),
    },
    { now: () => ms(0), monotonic: () => ms(0) },
  );
  intake.track(VIDEO_TRACK, VIDEO_ID);
  intake.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }), VIDEO_ID);
  return { intake, ends, written: () => written, usedBytes: () => usedBytes };
}

test('a publisher that leaves before its tracks are known gets a session, and one that is disconnected does not', () => {
  for (const [reason, packets] of [
    ['unpublished', 1],
    ['connection_lost', 1],
    ['disconnected', 0],
  ] as const) {
    const { intake, ends, written, usedBytes } = setUp();
    assert.equal(intake.isActive, true);
    assert.ok(usedBytes() > 0);
    intake.end(reason);
    intake.end('connection_lost');
    mock.timers.tick(1000);
    assert.deepEqual([ends, written(), usedBytes(), intake.isActive], [[reason], packets, 0, false]);
  }
});

test('a publisher that is disconnected while its session is opened ends once, and its media goes nowhere', () => {
  const { intake, ends, written, usedBytes } = setUp((opening) => opening.end('disconnected'));
  intake.end('unpublished');
  assert.deepEqual([ends, written(), usedBytes()], [['disconnected'], 0, 0]);
});
