/**
 * The one logger: structured lines on standard output, JSON unless a terminal reads them.
 */
import { pino } from 'pino';

/** What the rest of Millrace logs through; ids go into fields, never into the text. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** Header and field names whose values never reach a log line, wherever they stand. */
const REDACTED = ['authorization', 'streamKey', 'apiKey', 'secret', 'cookie'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/**
 * A logger that writes at `level` and above.
 * @param destination where lines go; standard output by default. Written at once, so nothing is lost at an exit.
 */
export function createLogger(level: string, destination: { write(line: string): void } = standardOutput()): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: REDACTED, censor: '[redacted]' } },
    destination,
  );
}

/**
 * Standard output as a place that lines may be lost on: a full disk, or a reader that is gone, is no reason to end what is live.
 * Node leaves the stream usable, so lines are there again when the fault is over.
 */
function standardOutput(): { write(line: string): void } {
  return process.stdout.on('error', () => {});
}

/** Logs nothing; for tests and for parts that were given no logger. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
