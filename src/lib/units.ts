/**
 * Units that must not be mixed up, as types, and the multiples of units.
 */
import type { Brand } from './brand.ts';

/** A point in time, or a span, in milliseconds. A point counts from the Unix epoch unless said otherwise. */
export type Milliseconds = Brand<number, 'Milliseconds'>;

/** Media time in integer ticks of a track's timescale. */
export type Ticks = Brand<number, 'Ticks'>;

/** Marks a number as milliseconds. */
export const ms = (value: number): Milliseconds => value as Milliseconds;

/** Marks an integer as ticks. */
export const ticks = (value: number): Ticks => value as Ticks;

/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000;

/** Milliseconds of an hour. */
export const HOUR_MS = 60 * MINUTE_MS;

/** Milliseconds of a day in UTC. */
export const DAY_MS = 24 * HOUR_MS;

/** Bytes of a mebibyte. */
export const MIB = 1024 ** 2;

/** Bytes of a gibibyte. */
export const GIB = 1024 ** 3;
