/**
 * The logger: structured lines on standard output, as JSON.
 */
import { pino } from 'pino';
import { LIMIT_INTERVAL_MS, LineLimit } from './line-limit.ts';
import { showing } from './shown-stacks.ts';

/** The interface through which Millrace logs. Ids go into fields, never into the message. */
export interface Logger {
  /** Logs a line that matters only when something is being investigated. */
  debug(fields: object, message: string): void;
  /** Logs a change of state. */
  info(fields: object, message: string): void;
  /** Logs a fault from which the service recovers by itself. */
  warn(fields: object, message: string): void;
  /** Logs a fault that the operator must look at. */
  error(fields: object, message: string): void;
  /** Returns a logger that adds fields to every line. */
  child(fields: object): Logger;
}

/** Names of headers and fields whose values are never logged, in the three outer levels of a line's fields. */
const REDACTED = ['authorization', 'streamKey', 'apiKey', 'secret', 'cookie'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** Lines of this level and below are written without a limit, because an operator who turns them on is looking for something. */
const DEBUG = 20;

/**
 * Makes a logger that writes lines of `level` and above, less than 1 MB a minute. {@link LineLimit} decides which lines are dropped, and
 * their number is logged every 10 s. Lines of level `debug` have no limit.
 * @param destination standard output by default. Lines are written at once, so that none is lost when the process exits.
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
      serializers: { err: (error: Error) => showing(() => pino.stdSerializers.err(error)) },
      hooks: {
        logMethod(args, method, lineLevel) {
          isLimited = lineLevel > DEBUG;
          if (isLimited) {
            if (!limit.admits(messageOf(args))) return;
            if (!isCounting) setTimeout(endInterval, LIMIT_INTERVAL_MS).unref();
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
 * Standard output without its errors: a full disk or a closed pipe loses lines, but must not end live streams. Node keeps the stream
 * usable, so lines are written again when the fault is over.
 */
function standardOutput(): { write(line: string): void } {
  return process.stdout.on('error', () => {});
}

/** Logs nothing, for tests and for parts without a logger. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
