/**
 * Presents tracks with their measured rates for the health of a session.
 */
import type { AudioHealth, Rates, VideoHealth } from '#domain/health.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';

/** A video track with its rates. */
export function videoHealth({ codecString, width, height }: VideoTrack, rates: Rates | undefined): VideoHealth {
  return { codec: codecString, width, height, rates };
}

/** An audio track with its rates. */
export function audioHealth({ codecString, sampleRate, channels }: AudioTrack, rates: Rates | undefined): AudioHealth {
  return { codec: codecString, sampleRate, channels, rates };
}
