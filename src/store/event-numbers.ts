/**
 * The numbers of events across a restore.
 */

/**
 * How many numbers a restore leaves out: more than a service gives between two backups, so that no number is given twice. A reader who
 * continues after an event from before the restore would otherwise get nothing until the numbers have come as far again.
 */
export const SKIPPED_EVENT_NUMBERS = 1_000_000_000;
