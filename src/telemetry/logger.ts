/**
 * The one logger: structured lines on standard output, JSON unless a terminal reads them.
 */
import { pino } from 'pino';
import { INTERVAL_MS, LineLimit } from './line-limit.ts';

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

/** Lines of this level and below are written without a limit, because an operator who turns them on is looking for something. */
const DEBUG = 20;

/**
 * A logger that writes lines of `level` and above, less than 1 MB a minute. {@link LineLimit} decides which lines are dropped, and their
 * number is logged every 10 s. Lines of level `debug` have no limit.
 * @param destination where lines go; standard output by default. Written at once, so nothing is lost at an exit.
 */
export function createLogger(level: string, destination: { write(line: string): void } = standardOutput()): Logger {
  const limit = new LineLimit();
  let isLimited = false;
  let isCounting = false;
  const endInterval = () => {
    isCounting = false;
    const dropped = limit.renew();
    if (dropped !== undefined) logger.warn({ dropped }, 'log lines dropped: too many in 10 s');
  };
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: REDACTED, censor: '[redacted]' },
      hooks: {
        logMethod(args, method, lineLevel) {
          isLimited = lineLevel > DEBUG;
          if (isLimited) {
            if (!limit.admits(messageOf(args))) return;
            if (!isCounting) setTimeout(endInterval, INTERVAL_MS).unref();
            isCounting = true;
          }
          method.apply(this, args);
        },
      },
    },
    {
      write: (line: string) => {
        if (isLimited) limit.wrote(Buffer.byteLength(line));
        destination.write(line);
      },
    },
  );
  return logger;
}

/** The message of a line, which is given after its fields or alone. */
const messageOf = ([first, second]: readonly unknown[]): string => String(typeof first === 'string' ? first : second);

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
