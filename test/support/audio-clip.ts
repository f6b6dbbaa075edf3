/**
 * Makes a few seconds of beeps in memory, as Opus packets from ingest, and finds beeps in decoded audio. It loads FFmpeg into the process,
 * so it is for tests that do so anyway.
 */
import {
  AV_CHANNEL_ORDER_NATIVE,
  AV_CODEC_FLAG_GLOBAL_HEADER,
  AV_LOG_QUIET,
  AV_OPT_SEARCH_CHILDREN,
  AV_OPT_TYPE_STRING,
  AV_SAMPLE_FMT_FLT,
  type FFEncoderCodec,
} from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, Packet as FFmpegPacket, Frame, Log, Rational } from 'node-av/lib';
import { ticks } from '#lib/units.ts';
import { parseOpusHead } from '#media/codecs/opus.ts';
import type { Packet } from '#media/packet.ts';
import type { AudioTrack } from '#media/track.ts';
import { AudioDecoder } from '#transcode/worker/audio-decoder.ts';
import { drawAudio, findBeeps } from './test-pattern.ts';

Log.setLevel(AV_LOG_QUIET);

const SAMPLE_RATE = 48_000;
/** The speaker positions of mono, stereo and 5.1. */
const SPEAKERS = { 1: 0x4n, 2: 0x3n, 6: 0x3fn } as const;

/** Which audio {@link makeAudioClip} makes. The default is 3 s of stereo in packets of 20 ms. */
export interface AudioClipOptions {
  readonly channels?: 1 | 2 | 6;
  readonly seconds?: number;
  /** The length of each packet: 2.5 to 60 ms. */
  readonly packetMs?: number;
  /** The time of the first beep, in samples. */
  readonly startSamples?: number;
}

/** A track and its packets. A beep begins at every whole second from the start. */
export interface AudioClip {
  readonly track: AudioTrack;
  readonly packets: readonly Packet[];
}

/** Generates and encodes a clip. */
export function makeAudioClip(options: AudioClipOptions = {}): AudioClip {
  const { channels = 2, seconds = 3, packetMs = 20, startSamples = SAMPLE_RATE } = options;
  const layout = { nbChannels: channels, order: AV_CHANNEL_ORDER_NATIVE, mask: SPEAKERS[channels] };
  const context = new CodecContext();
  const frame = new Frame();
  const packet = new FFmpegPacket();
  const codec = Codec.findEncoderByName('libopus' as FFEncoderCodec);
  if (codec === null) throw new Error('this FFmpeg has no libopus');
  context.allocContext3(codec);
  context.sampleRate = SAMPLE_RATE;
  context.sampleFormat = AV_SAMPLE_FMT_FLT;
  context.channelLayout = layout;
  context.timeBase = new Rational(1, SAMPLE_RATE);
  context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
  const duration = context.setOption('frame_duration', `${packetMs}`, AV_OPT_TYPE_STRING, AV_OPT_SEARCH_CHILDREN);
  FFmpegError.throwIfError(duration, 'frame_duration');
  FFmpegError.throwIfError(context.open2Sync(codec), 'open libopus');
  const track = parseOpusHead(Uint8Array.from(context.extraData ?? []));
  frame.alloc();
  frame.format = AV_SAMPLE_FMT_FLT;
  frame.sampleRate = SAMPLE_RATE;
  frame.channelLayout = layout;
  frame.nbSamples = context.frameSize;
  FFmpegError.throwIfError(frame.getBuffer(), 'memory for audio');
  packet.alloc();

  const packets: Packet[] = [];
  const push = (sound: Frame | null) => {
    FFmpegError.throwIfError(context.sendFrameSync(sound), 'encode');
    while (context.receivePacketSync(packet) >= 0) {
      const pts = ticks(Number(packet.pts));
      packets.push({ kind: 'audio', pts, dts: pts, keyframe: true, data: Uint8Array.from(packet.data ?? []) });
      packet.unref();
    }
  };
  const mono = new Float32Array(context.frameSize);
  for (let at = 0; at < seconds * SAMPLE_RATE; at += mono.length) {
    FFmpegError.throwIfError(frame.makeWritable(), 'memory for audio');
    drawAudio(mono, at, SAMPLE_RATE);
    const { buffer, byteOffset } = frame.data![0]!;
    const interleaved = new Float32Array(buffer, byteOffset, mono.length * channels);
    for (const [index, sample] of mono.entries()) interleaved.fill(sample, index * channels, (index + 1) * channels);
    frame.pts = BigInt(startSamples + at);
    push(frame);
  }
  push(null);
  packet.free();
  frame.free();
  context.freeContext();
  return { track, packets };
}

/** The times at which beeps begin, in samples, for a decoder that starts with the first packet. */
export function hearBeeps(track: AudioTrack, packets: readonly { pts: number; data: Uint8Array }[]): readonly number[] {
  const blocks: { samples: Float32Array; pts: number }[] = [];
  using decoder = new AudioDecoder(track, (planes, pts) => blocks.push({ samples: planes[0]!.slice(), pts }));
  for (const { pts, data } of packets) decoder.decode({ pts, data });
  const [first] = blocks;
  const last = blocks.at(-1);
  if (first === undefined || last === undefined) return [];
  const all = new Float32Array(last.pts + last.samples.length - first.pts);
  for (const { samples, pts } of blocks) all.set(samples, pts - first.pts);
  return findBeeps(all, track.sampleRate).map((at) => first.pts + at);
}
