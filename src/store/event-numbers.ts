/**
 * The numbers of events across a restore.
 */

/**
 * How many numbers of events a restore skips: more than a service gives out between two backups, so that no number is given twice.
 * Otherwise a reader who continues after an event from before the restore would get nothing until the numbers have come as far again.
 */
export const SKIPPED_EVENT_NUMBERS = 1_000_000_000;
