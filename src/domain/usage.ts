/**
 * What streams used and how much they were watched.
 */
import type { Milliseconds } from '#lib/units.ts';
import type { PlaybackId, StreamId, UserId } from './ids.ts';

/** The counters, in the order in which they are shown. */
export const USAGE_COUNTERS = [
  'ingestMs', // media received
  'ingestBytes',
  'transcodedMs', // media of all renditions that were made
  'transcodedBytes',
  'deliveredBytes', // media that this service sent to players and caches
  'views', // viewers that began to watch a stream or a recording of it
  'watchedMs', // presence of viewers of live streams, and duration of the segments of recordings that were sent
] as const;

/** One of {@link USAGE_COUNTERS}. */
export type UsageCounter = (typeof USAGE_COUNTERS)[number];

/** The counters with their values: whole numbers, times in milliseconds. */
export type UsageCounts = Readonly<Record<UsageCounter, number>>;

/**
 * What one counter of a process counted for one stream within one hour. Each value replaces the one before: it counts from the beginning of
 * the hour, or from the beginning of the counter if that was later. A process begins another counter when its clock is set back into an
 * hour that it has finished.
 */
export interface HourOfUsage {
  /** The beginning of the hour, in UTC. */
  readonly hour: Milliseconds;
  readonly playbackId: PlaybackId;
  /** Identifies the counter. */
  readonly countedBy: string;
  readonly counts: UsageCounts;
}

/** Usage summed over a span of time, and over all streams and users that are not given. */
export interface UsageSum {
  /** The beginning of the span. */
  readonly from: Milliseconds;
  readonly streamId: StreamId | undefined;
  readonly playbackId: PlaybackId | undefined;
  readonly userId: UserId | undefined;
  readonly counts: UsageCounts;
}

/** Counters that are all 0. */
export const NO_USAGE: UsageCounts = {
  ingestMs: 0,
  ingestBytes: 0,
  transcodedMs: 0,
  transcodedBytes: 0,
  deliveredBytes: 0,
  views: 0,
  watchedMs: 0,
};
