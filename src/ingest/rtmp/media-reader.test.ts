import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Announcement, Publication } from '#ingest/ingest.ts';
import type { Packet } from '#media/packet.ts';
import { type AmfValue, encodeAmf0 } from '#media/rtmp/amf0.ts';
import { MESSAGE } from '#media/rtmp/message.ts';
import type { Track } from '#media/track.ts';
import { Allowance } from './allowance.ts';
import { FaultCounter } from './fault-counter.ts';
import { MediaReader } from './media-reader.ts';

/** `avcC` of 160x90 and of 176x144, as x264 writes them; AAC-LC, mono, 44.1 and 48 kHz. */
const AVC = '0164000bffe100196764000bacd9428df93011000003000100000300320f14299601000668ebe3cb22c0fdf8f800';
const OTHER_AVC = '0164000bffe100186764000bacd942c4ec0440000003004000000c83c50a658001000668ebe3cb22c0fdf8f800';
const AAC = '1208';
const OTHER_AAC = '1188';
/** `av1C` of 640x360, as SVT-AV1 writes it; an Opus header of stereo. */
const AV1 = '81010c000a0b0000000cc4ff6700be0010';
const OPUS = '4f7075734865616401023801 80bb0000 0000 00';
const IDR = '00000002 6588';
const INTER = '00000002 419a';

/** The metadata of GStreamer with H.264. @param videoKbps the bitrate of the video in kbit/s */
const metadataWith = (videoKbps: number): ReadonlyMap<string, AmfValue> =>
  new Map([
    ['videocodecid', 7],
    ['videodatarate', videoKbps],
  ]);

function setUp() {
  const tracks: Track[] = [];
  const packets: Packet[] = [];
  const announcements: Announcement[] = [];
  const publication: Publication = {
    announce: (announcement) => void announcements.push(announcement),
    track: (track) => void tracks.push(track),
    packet: (packet) => void packets.push(packet),
    silentFor: () => {},
    end: () => {},
  };
  const faults = new FaultCounter();
  const reader = new MediaReader(publication, { faults, newStarts: new Allowance(10, 'changes') });
  const send = (type: number, timestamp: number, payload: Buffer) =>
    reader.read({ type, timestamp, payload, streamId: 1, chunkStreamId: 4 });
  return {
    tracks,
    packets,
    announcements,
    faults,
    video: (body: string, timestamp = 0) => send(MESSAGE.video, timestamp, hex(body)),
    audio: (body: string, timestamp = 0) => send(MESSAGE.audio, timestamp, hex(body)),
    data: (...values: AmfValue[]) => send(MESSAGE.data, 0, encodeAmf0(...values)),
    raw: (type: number, payload: Buffer) => send(type, 0, payload),
  };
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('media', () => {
  it('becomes packets in ticks of its track', () => {
    const { video, audio, packets } = setUp();
    video(`17 00 000000 ${AVC}`);
    audio(`af 00 ${AAC}`);
    video(`17 01 000050 ${IDR}`, 40);
    audio('af 01 2100', 23);
    video(`27 01 000000 ${INTER}`, 80);
    assert.deepEqual(
      packets.map(({ kind, dts, pts, keyframe }) => [kind, dts, pts, keyframe]),
      [
        ['video', 3600, 3600 + 7200, true],
        ['audio', 1014, 1014, true], // 23 ms at 44.1 kHz
        ['video', 7200, 7200, false],
      ],
    );
    assert.deepEqual(packets[0]?.data, hex(IDR));
  });

  it('is a keyframe by its bitstream, whatever its tag states', () => {
    const { video, packets } = setUp();
    video(`17 00 000000 ${AVC}`);
    video(`17 01 000000 ${INTER}`);
    video(`27 01 000000 ${IDR}`);
    assert.deepEqual(
      packets.map(({ keyframe }) => keyframe),
      [false, true],
    );
  });

  it('keeps its presentation times, and is decoded before these even when the encoder states later decoding times', () => {
    const { video, audio, packets } = setUp();
    video(`17 00 000000 ${AVC}`);
    audio(`af 00 ${OTHER_AAC}`);
    video(`17 01 000000 ${IDR}`, 100);
    video(`27 01 000050 ${INTER}`, 140); // shown fourth
    video(`27 01 ffffd8 ${INTER}`, 180); // -40 ms: shown second
    video(`27 01 ffffd8 ${INTER}`, 220);
    video(`27 01 000000 ${INTER}`, 260);
    audio('af 01 2100', 260);
    const inMs = ({ dts, pts }: Packet) => [dts / 90, pts / 90];
    const [audioPacket] = packets.filter(({ kind }) => kind === 'audio');
    assert.deepEqual(packets.filter(({ kind }) => kind === 'video').map(inMs), [
      [100, 100],
      [140, 220],
      [140, 140],
      [180, 180],
      [220, 260],
    ]);
    assert.equal(audioPacket?.dts, 260 * 48);
  });

  it('ignores composition times of hours', () => {
    const { video, packets } = setUp();
    video(`17 00 000000 ${AVC}`);
    for (const composition of ['800000', '7fffff']) video(`17 01 ${composition} ${IDR}`, 10_000);
    assert.deepEqual(
      packets.map(({ dts, pts }) => [dts / 90, pts / 90]),
      [
        [10_000, 10_000],
        [10_000, 10_000],
      ],
    );
  });

  it('before its configuration is dropped and counted, and is passed on after it', () => {
    const { video, audio, packets, faults } = setUp();
    video(`17 01 000000 ${IDR}`);
    audio('af 01 2100');
    audio('af 01 2100');
    assert.deepEqual(faults.take(), { video_without_config: 1, audio_without_config: 2 });
    video(`17 00 000000 ${AVC}`, 500);
    video(`17 01 000000 ${IDR}`, 500);
    assert.equal(packets.length, 1);
  });

  it('whose NAL unit lengths do not fit is dropped and counted', () => {
    const { video, packets, faults } = setUp();
    video(`17 00 000000 ${AVC}`);
    video('17 01 000000 ffffffff 65');
    video('17 01 00');
    assert.deepEqual(faults.take(), { video_malformed: 2 });
    assert.deepEqual(packets, []);
  });

  it('without a frame in it is dropped and counted, because decoders take it for a broken frame', () => {
    const { video, packets, faults } = setUp();
    video(`17 00 000000 ${AVC}`);
    video('17 01 000000 00000002 0910');
    video('27 01 000000 00000003 060180');
    assert.deepEqual(faults.take(), { video_empty: 2 });
    assert.deepEqual(packets, []);
  });

  it('hands out a track again only when its configuration changes', () => {
    const { video, audio, tracks } = setUp();
    for (const config of [AVC, AVC, OTHER_AVC, OTHER_AVC, AVC]) video(`17 00 000000 ${config}`);
    for (const config of [AAC, AAC, OTHER_AAC]) audio(`af 00 ${config}`);
    assert.deepEqual(
      tracks.map((track) => (track.kind === 'video' ? track.codedHeight : track.sampleRate)),
      [90, 144, 90, 44_100, 48_000],
    );
  });

  it('of Enhanced RTMP becomes packets as well, with nanosecond offsets', () => {
    const { video, audio, packets, tracks } = setUp();
    video(`90 61763031 ${AV1}`);
    audio(`90 4f707573 ${OPUS}`);
    video(`91 61763031 12000a0b0000000cc4ff6700be0010 320110`, 40);
    video(`a7 02 0aae60 01 61763031 320130`, 80); // 700,000 ns
    audio('91 4f707573 fc00', 20);
    assert.deepEqual(
      tracks.map(({ codec }) => codec),
      ['av1', 'opus'],
    );
    assert.deepEqual(
      packets.map(({ kind, dts, pts, keyframe }) => [kind, dts, pts, keyframe]),
      [
        ['video', 3600, 3600, true],
        ['video', 7263, 7263, false],
        ['audio', 960, 960, true],
      ],
    );
    assert.deepEqual(packets[0]?.data, hex('0a0b0000000cc4ff6700be0010 320110'), 'without its temporal delimiter');
  });

  it('changes its codec with a configuration; frames of another codec than configured are dropped', () => {
    const { video, tracks, packets, faults } = setUp();
    video(`17 00 000000 ${AVC}`);
    video('91 61763031 320110');
    assert.deepEqual(faults.take(), { video_without_config: 1 });
    video(`90 61763031 ${AV1}`);
    video('91 61763031 0a0b0000000cc4ff6700be0010 320110');
    video(`90 61766331 ${AVC}`);
    video(`93 61766331 ${IDR}`);
    assert.deepEqual(
      tracks.map(({ codec }) => codec),
      ['h264', 'av1', 'h264'],
    );
    assert.deepEqual(
      packets.map(({ keyframe }) => keyframe),
      [true, true],
    );
  });

  it('of other codecs is refused with advice', () => {
    for (const other of ['22 00', '90 76703039 01', '90 3c6b6579 01']) {
      assert.throws(() => setUp().video(other), {
        name: 'UnplayableMediaError',
        message: 'Millrace supports H.264, HEVC and AV1 video; set the encoder to H.264.',
      });
    }
    for (const other of ['2f ff fb', '90 61632d33 01', '90 664c6143 01']) {
      assert.throws(() => setUp().audio(other), {
        name: 'UnplayableMediaError',
        message: 'Millrace supports AAC and Opus audio; set the encoder to AAC.',
      });
    }
  });

  it('with an invalid configuration is refused', () => {
    assert.throws(() => setUp().video('17 00 000000 deadbeef'), { name: 'UnplayableMediaError' });
    assert.throws(() => setUp().audio('af 00 ff'), { name: 'UnplayableMediaError' });
    assert.throws(() => setUp().video('90 68766331 deadbeef'), { name: 'UnplayableMediaError' });
    assert.throws(() => setUp().audio('90 4f707573 deadbeef'), { name: 'UnplayableMediaError' });
  });

  it('is announced once, however often an encoder repeats its metadata (GStreamer)', () => {
    const { data, announcements } = setUp();
    for (const rate of [2500, 2500, 3000]) {
      data('@setDataFrame', 'onMetaData', metadataWith(rate));
    }
    assert.deepEqual(
      announcements.map(({ videoBitrateBps }) => videoBitrateBps),
      [2_500_000, 3_000_000],
    );
  });

  it('may change its bitrate with every message (GStreamer without a nominal bitrate)', () => {
    const { data, announcements } = setUp();
    for (let rate = 2500; rate > 2000; rate -= 10) {
      data('@setDataFrame', 'onMetaData', metadataWith(rate));
    }
    assert.equal(announcements.length, 50);
  });

  it('has the frame rate of the metadata when its bitstream declares none', () => {
    const { data, video, tracks } = setUp();
    const codecAndRate = new Map([
      ['videocodecid', 7],
      ['framerate', 12],
    ]);
    data('@setDataFrame', 'onMetaData', codecAndRate);
    video(`90 61763031 ${AV1}`);
    video(`17 00 000000 ${AVC}`);
    assert.deepEqual(
      tracks.map((track) => track.kind === 'video' && track.declaredFrameRate),
      [12, 25],
    );
  });

  it('continues after metadata that cannot be read', () => {
    const { raw, announcements, faults } = setUp();
    raw(MESSAGE.data, Buffer.of(0xff));
    raw(MESSAGE.data, Buffer.alloc(70_000));
    raw(MESSAGE.dataAmf3, Buffer.concat([Buffer.of(0), encodeAmf0('onMetaData', new Map([['videocodecid', 7]]))]));
    assert.deepEqual(faults.take(), { metadata_malformed: 2 });
    assert.equal(announcements.length, 1);
  });
});
