/**
 * The column that holds the health of streams and sessions.
 */
import { healthOfText, type SessionHealth, textOfHealth } from '#domain/health.ts';

/** The value of the column. Null for no health. */
export const columnOfHealth = (health: SessionHealth | undefined): string | null =>
  health === undefined ? null : textOfHealth(health);

/** The health in the column. Undefined when there is none, or when a later version of Millrace wrote it. */
export const healthOfColumn = (value: string | null): SessionHealth | undefined =>
  value === null ? undefined : healthOfText(value);
