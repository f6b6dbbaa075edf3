import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '#lib/units.ts';
import { parseAudioSpecificConfig } from '#media/codecs/aac.ts';
import type { Packet } from '#media/packet.ts';
import type { AudioTrack } from '#media/track.ts';
import { type AudioClip, hearBeeps, makeAudioClip } from '#test/support/audio-clip.ts';
import type { AudioPacket } from '#transcode/worker-messages.ts';
import { AudioTranscoder } from './audio-transcoder.ts';

const RATE = 48_000;
/** Half of one of the beep's waves plus the smearing of AAC, which is inaudible. */
const IN_STEP_SAMPLES = 48;

/** The output for a clip. */
class Made {
  readonly tracks: AudioTrack[] = [];
  readonly packets: AudioPacket[] = [];
  /** The number of packets before each report of missing audio. */
  readonly missing: number[] = [];
  readonly audio = new AudioTranscoder({
    onConfig: (config) => void this.tracks.push(parseAudioSpecificConfig(config)),
    onPacket: ({ pts, data }) => void this.packets.push({ pts, data: data.slice() }),
    onMissing: () => void this.missing.push(this.packets.length),
  });

  write({ packets }: Pick<AudioClip, 'packets'>): this {
    for (const packet of packets) this.audio.write(packet);
    return this;
  }

  beeps(packets: readonly AudioPacket[] = this.packets) {
    return hearBeeps(this.tracks[0]!, packets);
  }
}

function make(clip: AudioClip): Made {
  const made = new Made();
  made.audio.setSource(clip.track);
  made.write(clip).audio.finish();
  return made;
}

function assertInStep(beeps: readonly number[], expected: readonly number[]): void {
  assert.equal(beeps.length, expected.length, `${beeps.join()} for ${expected.join()}`);
  for (const [index, beep] of beeps.entries()) {
    assert.ok(Math.abs(beep - expected[index]!) <= IN_STEP_SAMPLES, `a beep is ${beep - expected[index]!} samples off`);
  }
}

for (const [what, options] of [
  ['stereo', {}],
  ['mono', { channels: 1 }],
  ['5.1, as stereo,', { channels: 6 }],
  ['packets of 2.5 ms', { packetMs: 2.5 }],
  ['packets of 60 ms', { packetMs: 60 }],
] as const) {
  test(`${what} of Opus becomes AAC with the same audio at the same time`, () => {
    const clip = makeAudioClip({ ...options, startSamples: 3 * RATE + 7 });
    const made = make(clip);
    const channels = Math.min(2, clip.track.channels);
    const [track] = made.tracks;
    assert.equal(track?.codecString, 'mp4a.40.2');
    assert.deepEqual([track.sampleRate, track.channels, track.samplesPerPacket], [RATE, channels, 1024]);
    assertInStep(
      made.beeps(),
      [3, 4, 5].map((second) => second * RATE + 7),
    );
    for (const [index, { pts }] of made.packets.entries()) {
      assert.equal(pts, made.packets[0]!.pts + index * 1024, 'gapless');
    }
    const lastS = made.packets.at(-1)!.pts / RATE;
    assert.ok(lastS > 5.95, `it ends at ${lastS} s`);
    const bitrateBps = (made.packets.reduce((sum, { data }) => sum + data.length, 0) * 8) / 3;
    assert.ok(bitrateBps < 70_000 * channels, `${bitrateBps} bit/s`);
  });
}

const BROKEN = Uint8Array.of(0xff, 0x41, 0xff);

const later = (packet: Packet, samples: number): Packet => ({ ...packet, pts: ticks(packet.pts + samples) });

test('lost packets become silence, and later audio stays in step', () => {
  const clip = makeAudioClip();
  const packets = clip.packets.filter((_, index) => index < 60 || index >= 90);
  const made = make({ ...clip, packets });
  assert.equal(made.tracks.length, 1);
  assertInStep(
    made.beeps(),
    [1, 2, 3].map((second) => second * RATE),
  );
});

test('after a long pause audio begins again at its own time', () => {
  const clip = makeAudioClip();
  const packets = clip.packets.map((packet) => (packet.pts < 2.5 * RATE ? packet : later(packet, 58 * RATE)));
  const made = make({ ...clip, packets });
  const split = made.packets.findIndex(({ pts }) => pts > 30 * RATE);
  assertInStep(
    made.beeps(made.packets.slice(0, split)),
    [1, 2].map((second) => second * RATE),
  );
  assertInStep(
    made.beeps(made.packets.slice(split)),
    [61].map((second) => second * RATE),
  );
  assert.deepEqual(made.missing, [], 'the source had none');
  assert.deepEqual(made.tracks[1], made.tracks[0]);
});

test('broken packets are counted, and the others are decoded', () => {
  const clip = makeAudioClip();
  const packets = clip.packets.map((packet, index) => (index % 40 === 25 ? { ...packet, data: BROKEN } : packet));
  const made = make({ ...clip, packets });
  assert.equal(made.audio.decodeErrors, 4);
  assertInStep(
    made.beeps(),
    [1, 2, 3].map((second) => second * RATE),
  );
  assert.deepEqual(made.missing, [], 'they are silence');
});

test('when packets of more than a second are broken, audio is reported as missing before the next intact packet', () => {
  const { track, packets } = makeAudioClip({ seconds: 5 });
  const startS = packets[0]!.pts / RATE;
  const isBroken = ({ pts }: Packet) => pts >= (startS + 1.5) * RATE && pts < (startS + 3.5) * RATE;
  const made = new Made();
  made.audio.setSource(track);
  made.write({ packets: packets.filter(({ pts }) => pts < (startS + 1.5) * RATE) });
  made.write({ packets: packets.filter(isBroken).map((packet) => ({ ...packet, data: BROKEN })) });
  assert.deepEqual(made.missing, [made.packets.length], 'once, after the audio from before');
  made.write({ packets: packets.filter(({ pts }) => pts >= (startS + 3.5) * RATE) }).audio.finish();
  assert.equal(made.missing.length, 1);
  assertInStep(
    made.beeps(made.packets.slice(made.missing[0])),
    [5].map((second) => second * RATE),
  );
});

test('a header that no decoder accepts is counted and does not throw', () => {
  const { track, packets } = makeAudioClip({ seconds: 0.1 });
  const made = make({ track: { ...track, config: Uint8Array.of(...track.config.slice(0, 18), 255) }, packets });
  assert.equal(made.audio.decodeErrors, packets.length);
  assert.deepEqual(made.packets, []);
});

test('audio that the encoder refuses is counted and reported as missing, and does not throw', () => {
  const { track, packets } = makeAudioClip({ seconds: 0.5 });
  const made = make({ track: { ...track, sampleRate: 44_000 }, packets }); // AAC has no such rate
  const { decodeErrors, encodeErrors } = made.audio;
  assert.equal(decodeErrors, 0);
  assert.ok(encodeErrors > 10, `${encodeErrors} errors`);
  assert.equal(made.missing.length, encodeErrors);
  assert.deepEqual([made.tracks, made.packets], [[], []]);
});
