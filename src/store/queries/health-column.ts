/**
 * The column in which streams and sessions keep their health.
 */
import { healthOfText, type SessionHealth, textOfHealth } from '#domain/health.ts';

/** The value of the column; null for no health. */
export const columnOfHealth = (health: SessionHealth | undefined): string | null =>
  health === undefined ? null : textOfHealth(health);

/** The health in the column; undefined when there is none, or when a later version of Millrace wrote it. */
export const healthOfColumn = (value: string | null): SessionHealth | undefined =>
  value === null ? undefined : healthOfText(value);
