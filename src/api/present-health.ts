/**
 * Presents the health of a running session to clients.
 */
import type { Static } from 'typebox';
import { type AudioHealth, isHealthy, type SessionHealth, type VideoHealth } from '#domain/health.ts';
import { SOURCE_RENDITION } from '#domain/profile.ts';
import type { LiveStatus } from '#live/live.ts';
import type { HealthSchema } from './schemas/health.ts';
import type { StreamSchema } from './schemas/stream.ts';

type HealthFields = Pick<
  Static<typeof StreamSchema>,
  'isHealthy' | 'issues' | 'ingestRate' | 'outgoingRate' | 'health'
>;

/** The health fields of a stream or session while no media is received. */
const IDLE: HealthFields = { isHealthy: null, issues: null };

/**
 * The health fields of a stream or session. They are null while no media is received.
 * @param status the health of a session that runs on this node
 * @param stored the record of a session that runs on another node
 */
export function presentHealth(
  status: LiveStatus | undefined,
  stored: { readonly health: SessionHealth | undefined },
): HealthFields {
  const session = status ? status.health?.() : stored.health;
  if (session === undefined) return IDLE;
  const { warnings, source, ladder } = session;
  return {
    isHealthy: isHealthy(warnings),
    issues: warnings.flatMap(({ severity, message }) => (severity === 'issue' ? [message] : [])),
    ingestRate: bytesPerSecond([source.video, source.audio]),
    outgoingRate: bytesPerSecond(ladder.renditions.map(({ video }) => video)),
    health: details(session, status?.viewersOf),
  };
}

function details(
  { encoder, source, ladder, warnings }: SessionHealth,
  viewersOf: LiveStatus['viewersOf'] | undefined,
): Static<typeof HealthSchema> {
  const { transcoder } = ladder;
  const keyframeInterval = source.video?.keyframeIntervalS;
  return {
    ...(encoder !== undefined && { encoder }),
    source: {
      ...(viewersOf && { viewers: viewersOf(SOURCE_RENDITION) }),
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
      ...(viewersOf && { viewers: viewersOf(id) }),
      ...(made && { video: video(made) }),
    })),
    leftOut: ladder.leftOut.map(({ id, reason }) => ({ name: id, reason })),
    ...(transcoder && { transcoder: { restarts: transcoder.restarts, lag: Math.round(transcoder.lagMs) } }),
    warnings: warnings.map(({ measured, ...warning }) => ({ ...warning, ...measured })),
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
