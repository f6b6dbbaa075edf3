/**
 * Several hundred transcoders are killed, one after another: does the source play on, and does any process or memory stay behind?
 */
import { readdirSync } from 'node:fs';
import type { CreatedStream } from '../test/support/api-client.ts';
import { transcodersOf } from '../test/support/children.ts';
import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { readTrack } from '../test/support/iso-bmff.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { encodeClip } from './support/clip.ts';
import { playlistUrls } from './support/ladder.ts';
import { createStreams, publishTo } from './support/load.ts';
import { type ObservedServer, startObservedServer } from './support/observed-server.ts';
import { type Answer, type BenchOptions, firstOf, show } from './support/question.ts';
import { readParts } from './support/rendition-reader.ts';

const MB = 1e6;
const KILLS = { asked: 500, usual: 60 };
/** The number of streams that take turns, because after several losses in a row a transcoder is replaced only after ten seconds. */
const STREAMS = 12;
/** The time after which a transcoder has loaded FFmpeg and decoded a keyframe. */
const AT_WORK_AFTER_MS = 2000;
const PROFILE = { name: 'small', bitrate: 200_000, fps: 0, width: 240, height: 136 };
const SOURCE = { width: 320, height: 180, fps: 30, gopS: 1, bFrames: 0, bitrateBps: 300_000 };
/** Settings with short playlists, so that media is soon removed at the rate at which it is added. */
const SETTINGS = {
  MILLRACE_SEGMENT_TARGET_DURATION_S: '2',
  MILLRACE_PLAYLIST_WINDOW_S: '12',
  MILLRACE_LOG_LEVEL: 'error',
};
/** Kills before the measurement, which fill the playlists and compile the code that handles a loss. */
const WARM_KILLS = 2 * STREAMS;
/** The heap of a busy process differs by this much from one garbage collection to the next. */
const NOISE_MB = 2;
/** The allowed growth, because viewers' connections come and go. If a kill left something behind, it would be there once for each kill. */
const NOISE_DESCRIPTORS = STREAMS;

/** What a process holds. */
interface Held {
  /** The heap without the media that the process keeps. */
  readonly heapMb: number;
  readonly descriptors: number;
}

/** Answers the question above. */
export async function transcoderKills({ long }: BenchOptions): Promise<readonly Answer[]> {
  const kills = long ? KILLS.asked : KILLS.usual;
  const clip = await encodeClip(SOURCE);
  await using server = await startObservedServer({ settings: SETTINGS });
  const streams = await createStreams(server.api, STREAMS, () => ({ profiles: [PROFILE] }));
  await using _load = await publishTo(server.rtmpPort, streams, clip, { apartMs: 300 });
  const running = () => allRunning(server, streams);
  await running();
  const stop = new AbortController();
  const viewers = streams.map(({ playbackId }) => watchSource(server.playlistUrl(playbackId), stop.signal));

  await killOneAfterAnother(server, WARM_KILLS);
  await running();
  const before = await held(server);
  await killOneAfterAnother(server, kills);
  await running();
  const after = await held(server);
  const zombies = transcodersOf(server.pid).filter(({ state }) => state === 'Z').length;
  stop.abort();
  const seen = await Promise.all(viewers);
  const parts = seen.reduce((sum, viewer) => sum + viewer.parts, 0);
  const faults = seen.flatMap((viewer) => viewer.faults);

  const grownMb = after.heapMb - before.heapMb;
  const newDescriptors = after.descriptors - before.descriptors;
  const leaksNothing = grownMb <= NOISE_MB && newDescriptors <= NOISE_DESCRIPTORS;
  const isWell = faults.length === 0 && zombies === 0 && leaksNothing;
  return [
    {
      question: `${kills} transcoders killed under ${STREAMS} live streams${long ? '' : ` (${KILLS.asked} kills with --long)`}`,
      measured: `${faults.length} interruptions, ${zombies} zombies, heap ${show(after.heapMb)} MB, ${after.descriptors} descriptors`,
      against: `before: heap ${show(before.heapMb)} MB, ${before.descriptors} descriptors`,
      mustReach: `none, none, +${NOISE_MB} MB, +${NOISE_DESCRIPTORS}`,
      reached: isWell,
      details: [`${parts} parts of the source`, firstOf(faults).details].filter(Boolean).join('; '),
    },
  ];
}

/** Every stream has a transcoder that runs. */
async function allRunning({ api }: ObservedServer, streams: readonly CreatedStream[]): Promise<void> {
  const running = async () => {
    const seen = await Promise.all(streams.map(({ id }) => api.getStream(id)));
    return seen.every(({ health }) => health?.renditions.every(({ state }) => state === 'running'));
  };
  await waitFor(running, { what: 'a transcoder for every stream', timeoutMs: 60_000 });
}

/** Sends SIGKILL to a transcoder that has run long enough to be transcoding. */
async function killOneAfterAnother(server: ObservedServer, kills: number): Promise<void> {
  const seenAt = new Map<number, number>();
  for (let count = 0; count < kills; count += 1) {
    const victim = await waitFor(
      () => {
        const now = performance.now();
        const pids = transcodersOf(server.pid).map(({ pid }) => pid);
        for (const pid of pids) if (!seenAt.has(pid)) seenAt.set(pid, now);
        return pids.find((pid) => now - seenAt.get(pid)! > AT_WORK_AFTER_MS);
      },
      { what: 'a transcoder to kill', timeoutMs: 30_000 },
    );
    seenAt.set(victim, Number.POSITIVE_INFINITY); // until it is reaped
    process.kill(victim, 'SIGKILL');
  }
}

async function held(server: ObservedServer): Promise<Held> {
  const metrics = await (await fetch(server.metricsUrl)).text();
  const mediaBytes = Number(/^millrace_media_memory_bytes (\S+)$/m.exec(metrics)?.[1]);
  const heapMb = ((await server.memory()).heapBytes - mediaBytes) / MB;
  return { heapMb, descriptors: readdirSync(`/proc/${server.pid}/fd`).length };
}

/** Reads every part of a source, and reports what is wrong with it. */
async function watchSource(
  index: string,
  signal: AbortSignal,
): Promise<{ readonly parts: number; readonly faults: readonly string[] }> {
  const url = (await playlistUrls(index, 3)).get('source')!;
  const { segments } = readMediaPlaylist(await (await fetch(url)).text());
  const init = Buffer.from(await (await fetch(new URL(segments[0]!.map!, url))).arrayBuffer());
  const faults: string[] = [];
  let parts = 0;
  let endTick: number | undefined;
  try {
    for await (const { name, body } of readParts(url, { signal })) {
      parts += 1;
      const { samples } = readTrack(init, body);
      const last = samples.at(-1)!;
      if (endTick !== undefined && samples[0]!.dts !== endTick)
        faults.push(`${name}: ${samples[0]!.dts - endTick} ticks`);
      endTick = last.dts + last.duration;
    }
  } catch (error) {
    if (!signal.aborted) faults.push(String(error));
  }
  return { parts, faults };
}
