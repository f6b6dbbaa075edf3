/**
 * The health of what runs, as clients see it.
 */
import type { Static } from 'typebox';
import { type AudioHealth, isHealthy, type SessionHealth, type VideoHealth } from '#live/health.ts';
import type { LiveStatus } from '#live/live.ts';
import type { HealthSchema } from './schemas/health.ts';
import type { StreamSchema } from './schemas/stream.ts';

type HealthFields = Pick<
  Static<typeof StreamSchema>,
  'isHealthy' | 'issues' | 'ingestRate' | 'outgoingRate' | 'health'
>;

/** Shared by all that are idle, which most are. */
const IDLE: HealthFields = { isHealthy: null, issues: null };

/**
 * The fields of a stream or session that tell how it is doing; null while no media comes in.
 * @param status of what runs here
 * @param stored for what runs elsewhere
 */
export function presentHealth(
  status: LiveStatus | undefined,
  stored: { readonly health: string | undefined },
): HealthFields {
  const session = status ? status.health?.() : storedHealth(stored.health);
  if (session === undefined) return IDLE;
  const { warnings, source, ladder } = session;
  return {
    isHealthy: isHealthy(warnings),
    issues: warnings.flatMap(({ severity, message }) => (severity === 'issue' ? [message] : [])),
    ingestRate: bytesPerSecond([source.video, source.audio]),
    outgoingRate: bytesPerSecond(ladder.renditions.map(({ video }) => video)),
    health: details(session),
  };
}

/** Written by another process of ours, as JSON. */
export function storedHealth(text: string | undefined): SessionHealth | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as SessionHealth);
}

function details({ encoder, source, ladder, warnings }: SessionHealth): Static<typeof HealthSchema> {
  const { transcoder } = ladder;
  const keyframeInterval = source.video?.keyframeIntervalS;
  return {
    ...(encoder !== undefined && { encoder }),
    source: {
      ...(source.video && {
        video: {
          ...video(source.video),
          ...(keyframeInterval !== undefined && { keyframeInterval: rounded(keyframeInterval, 3) }),
        },
      }),
      ...(source.audio && { audio: audio(source.audio) }),
    },
    renditions: ladder.renditions.map(({ id, state, video: made }) => ({
      name: id,
      state,
      ...(made && { video: video(made) }),
    })),
    leftOut: ladder.leftOut.map(({ id, reason }) => ({ name: id, reason })),
    ...(transcoder && { transcoder: { restarts: transcoder.restarts, lag: Math.round(transcoder.lagMs) } }),
    warnings: [...warnings],
  };
}

function bytesPerSecond(tracks: readonly (VideoHealth | AudioHealth | undefined)[]): number {
  return Math.round(tracks.reduce((bps, track) => bps + (track?.rates?.bitrateBps ?? 0), 0) / 8);
}

function video({ codec, width, height, rates }: VideoHealth) {
  if (rates === undefined) return { codec, width, height };
  return { codec, width, height, fps: rounded(rates.framesPerSecond, 2), bitrate: Math.round(rates.bitrateBps) };
}

function audio({ codec, sampleRate, channels, rates }: AudioHealth) {
  return { codec, sampleRate, channels, ...(rates && { bitrate: Math.round(rates.bitrateBps) }) };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
