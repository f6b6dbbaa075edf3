import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUDIO_ID, AUDIO_TRACK, packetAt, VIDEO_ID, VIDEO_TRACK } from '#test/support/tracks.ts';
import { Interleaver } from './interleaver.ts';

const AUDIO = { id: AUDIO_ID, track: AUDIO_TRACK };
const VIDEO = { id: VIDEO_ID, track: VIDEO_TRACK };

/** The time between two packets of a track, in seconds. */
const STEP_S = 0.1;

/**
 * Sends 10 packets a second of both tracks from one time until another.
 * @param aheadS how much earlier than the video of the same time the audio is sent
 * @returns how far the audio that came out last is ahead of the video
 */
function send(
  interleaver: Interleaver,
  [fromS, untilS]: readonly [number, number],
  aheadS: number,
  muted = '',
): number {
  let audioS = Number.NaN;
  for (let tenths = Math.round(fromS * 10); tenths < untilS * 10; tenths++) {
    const atMs = tenths * 1000 * STEP_S;
    const due = [
      ...(muted === 'video' ? [] : interleaver.next(VIDEO, packetAt(VIDEO_TRACK, atMs))),
      ...(muted === 'audio' ? [] : interleaver.next(AUDIO, packetAt(AUDIO_TRACK, atMs + aheadS * 1000))),
    ];
    for (const { packet } of due) if (packet.kind === 'audio') audioS = packet.dts / AUDIO_TRACK.timescale;
  }
  return audioS - untilS + STEP_S;
}

const assertNear = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1.5 * STEP_S, `${actual} s, not ${expected} s`);

test('audio that is sent before its video waits for it, for at most three seconds', () => {
  assertNear(send(new Interleaver(), [1, 20], 2), 0);
  assertNear(send(new Interleaver(), [1, 20], 5), 2);
});

test('audio of more than 2 MiB does not wait, so that nobody fills memory with it', () => {
  const interleaver = new Interleaver();
  interleaver.next(VIDEO, packetAt(VIDEO_TRACK, 0));
  let waiting = 0;
  for (let count = 0; count < 100; count++) {
    const packet = { ...packetAt(AUDIO_TRACK, 2900 + count), data: Buffer.alloc(64 * 1024) };
    const due = interleaver.next(AUDIO, packet);
    waiting += 1 - due.length;
    assert.ok(waiting <= 32, `${waiting} packets of 64 KiB wait`);
  }
});

test('audio does not wait where publishers send audio and video in turns, or no video', () => {
  assertNear(send(new Interleaver(), [1, 20], 0.3), 0.3);
  assertNear(send(new Interleaver(), [1, 20], 0, 'video'), 0);
});

test('audio goes on while the video pauses, and waits at once when it comes back from a pause of its own', () => {
  const interleaver = new Interleaver();
  send(interleaver, [1, 5], 2);
  assertNear(send(interleaver, [5, 12], 2, 'video'), 0);
  send(interleaver, [12, 15], 2);
  assertNear(send(interleaver, [15, 17], 2, 'audio'), 0);
  for (const [fromS, untilS] of [
    [17, 18],
    [21, 24],
  ] as const) {
    send(interleaver, [fromS, untilS], 2, 'audio');
    assert.deepEqual(interleaver.next(AUDIO, packetAt(AUDIO_TRACK, (untilS + 2) * 1000)), []);
    assertNear(send(interleaver, [untilS + STEP_S, untilS + 3], 2), 0);
  }
});

test('the lateness of audio is that of its newest packet, and at most three seconds', () => {
  const interleaver = new Interleaver();
  assert.equal(interleaver.audioLateS, 0);
  for (const [aheadS, expected] of [
    [-2, 2],
    [-5, 3],
    [1, 0],
  ] as const) {
    send(interleaver, [10, 20], aheadS);
    assertNear(interleaver.audioLateS, expected);
  }
});
