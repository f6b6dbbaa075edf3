import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newMediaPath, newSessionId, newUserId } from '#domain/ids.ts';
import type { Packaged } from '#hls/hls.ts';
import { ms } from '#lib/units.ts';
import type { Picture } from '#media/picture.ts';
import type { RecordingExtent } from '#recording/recording.ts';
import { SessionRecording } from './session-recording.ts';

const EXTENT: RecordingExtent = { durationS: 1, sizeBytes: 1, fromMs: undefined, untilMs: undefined, tracks: [] };

/** A recording whose recorder only remembers what it is given. */
function setUp() {
  const told: unknown[] = [];
  const warnings: string[] = [];
  const recording = new SessionRecording({
    request: {
      sessionId: newSessionId(),
      userId: newUserId(),
      path: newMediaPath(),
      epoch: ms(0),
      targetDurationS: 4,
      isContinued: false,
      warn: (code) => void warnings.push(code),
    },
    begin: () => {
      told.push('begin');
      return {
        extent: EXTENT,
        write: (id, packaged) => void told.push([id, packaged]),
        picture: (picture) => void told.push(picture),
        end: async () => EXTENT,
        pause: async () => void told.push('pause'),
      };
    },
  });
  return { recording, told, warnings };
}

const INIT = { type: 'init', name: 'init-0.mp4' } as unknown as Packaged;
const partOf = (sizeBytes: number) => ({ type: 'part', sizeBytes }) as unknown as Packaged;
const tile = (atS: number): Picture => ({ kind: 'tile', atS, jpeg: new Uint8Array(1) });

test('what was made before the session is shown is recorded in its order, with the first picture of each kind', async () => {
  const { recording, told } = setUp();
  const [first, second, third] = [partOf(1), partOf(2), partOf(3)];
  recording.write('source', INIT);
  recording.write('source', first);
  for (const atS of [1, 2]) recording.picture(tile(atS));
  recording.write('audio', second);
  assert.deepEqual(told, []);
  recording.begin();
  recording.begin();
  recording.write('source', third);
  recording.picture(tile(3));
  assert.deepEqual(told, [
    'begin',
    ['source', INIT],
    ['source', first],
    ['audio', second],
    tile(1),
    ['source', third],
    tile(3),
  ]);
  assert.equal(await recording.end(), EXTENT);
});

test('a session that is never shown has no recording', async () => {
  const { recording, told } = setUp();
  recording.write('source', partOf(1));
  assert.equal(await recording.end(), undefined);
  recording.begin();
  recording.write('source', partOf(1));
  await recording.pause();
  assert.deepEqual(told, []);
});

test('of more media than may wait, the recording has what comes later, with a warning', () => {
  const { recording, told, warnings } = setUp();
  const large = 40 * 1024 * 1024;
  const last = partOf(1);
  recording.write('source', INIT);
  for (let part = 0; part < 2; part += 1) recording.write('source', partOf(large));
  recording.write('source', last);
  recording.begin();
  assert.deepEqual(told, ['begin', ['source', INIT], ['source', last]]);
  assert.deepEqual(warnings, ['recording_behind']);
});
