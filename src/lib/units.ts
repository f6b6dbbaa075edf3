/**
 * Units that must not be mixed up, as types.
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
