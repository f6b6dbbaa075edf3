/**
 * Answers of S3: reads them completely and within bounds, and turns refusals into errors.
 */
import type { Dispatcher } from 'undici';
import { ObjectStoreError } from '#objects/objects.ts';
import { MalformedXml, readXml, textOf } from './xml.ts';

/** The largest answer to a request without a range: an object that is read as a whole, or a list of a thousand names. */
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;

/** Error codes of refusals after which repeating the call may help. Those with a status of 500 and above are not listed. */
const TEMPORARY = new Set([
  'RequestTimeTooSkewed',
  'RequestTimeout',
  'OperationAborted',
  'SlowDown',
  'TooManyRequests',
]);

/** A complete answer. */
export class S3Answer {
  readonly status: number;
  readonly body: Buffer;
  /** The value of `Content-Length`. In the answer to HEAD it is the size of the object. */
  readonly contentLength: number | undefined;
  /** The server's time, in milliseconds since 1970. */
  readonly date: number | undefined;
  readonly #what: string;

  constructor(what: string, status: number, headers: Dispatcher.ResponseData['headers'], body: Buffer) {
    this.#what = what;
    this.status = status;
    this.body = body;
    this.contentLength = lengthOf(headers);
    const date = Date.parse(String(headers.date));
    this.date = Number.isNaN(date) ? undefined : date;
  }

  /** Whether the request was carried out. */
  get isOk(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Whether there is no such object. A bucket that does not exist is an error. */
  get isMissing(): boolean {
    return this.status === 404 && this.code !== 'NoSuchBucket';
  }

  /** S3's error code of a refusal, such as `AccessDenied`. Undefined when the answer has none. */
  get code(): string | undefined {
    if (this.isOk || this.body.length === 0) return undefined;
    try {
      const code = textOf(readXml(this.body.toString()), 'Code');
      return code !== undefined && /^[A-Za-z0-9]{1,64}$/.test(code) ? code : undefined;
    } catch (error) {
      if (error instanceof MalformedXml) return undefined;
      throw error;
    }
  }

  /** Makes an error of this answer. @param what what is wrong with an answer that is not a refusal */
  error(what?: string): ObjectStoreError {
    const { code, status } = this;
    const isTemporary =
      what !== undefined || this.isOk || status >= 500 || status === 429 || status === 408 || TEMPORARY.has(code ?? '');
    const reason = what ?? (this.isOk ? 'an incomplete answer' : code);
    return new ObjectStoreError(`${this.#what}: ${[status, reason].filter(Boolean).join(' ')}`, { isTemporary });
  }
}

/**
 * Reads an answer.
 * @param what the operation and the object, for errors
 * @param rangeBytes the size of the requested range. 0 when none was requested
 * @throws {ObjectStoreError} when the answer is larger; the errors of undici when it does not arrive completely
 */
export async function answerOf(
  what: string,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  rangeBytes: number,
): Promise<S3Answer> {
  const isHead = what.startsWith('HEAD');
  const limit = statusCode < 300 ? Math.max(rangeBytes, MAX_WHOLE_BYTES) : MAX_WHOLE_BYTES;
  const announced = isHead ? 0 : (lengthOf(headers) ?? 0);
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  if (announced <= limit) {
    for await (const piece of body as AsyncIterable<Buffer>) {
      sizeBytes += piece.length;
      if (sizeBytes > limit) break;
      pieces.push(piece);
    }
  }
  if (Math.max(sizeBytes, announced) > limit) {
    // The rest of the answer is not read. Destroying the body emits an error, which is expected.
    body.on('error', () => {}).destroy();
    throw new ObjectStoreError(`${what}: an answer of more than ${limit} bytes`, { isTemporary: true });
  }
  return new S3Answer(what, statusCode, headers, Buffer.concat(pieces, sizeBytes));
}

function lengthOf(headers: Dispatcher.ResponseData['headers']): number | undefined {
  const length = headers['content-length'];
  return typeof length === 'string' && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
