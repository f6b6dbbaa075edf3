/**
 * Keeps objects in a bucket with the protocol of Amazon S3, as AWS, Cloudflare R2, SeaweedFS, Garage, RustFS and others speak it. Of the
 * protocol it needs PUT, GET with ranges, HEAD, DELETE and ListObjectsV2, with path-style addresses.
 *
 * Errors state the operation, the object, the status and S3's error code. They never repeat anything else of the answer, because it may
 * quote the signed request.
 */

import { createHash, hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { Pool } from 'undici';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { assertObjectName, assertObjectPrefix, isObjectName } from '#objects/object-name.ts';
import {
  type ByteSpan,
  type ObjectCall,
  type ObjectHead,
  type ObjectStore,
  ObjectStoreError,
} from '#objects/objects.ts';
import { answerOf, type S3Answer } from './s3/answer.ts';
import { encodedPath, encodedQuery, type Signer, signedHeaders, UNSIGNED_PAYLOAD } from './s3/signature.ts';
import { MalformedXml, readXml, textOf } from './s3/xml.ts';

const CONNECT_TIMEOUT_MS = 5000;
/** How long the headers of an answer may take once the request is sent. */
const ANSWER_TIMEOUT_MS = 30_000;
/** The longest pause within the body of an answer. */
const BODY_TIMEOUT_MS = 15_000;
/** How long a request may take, in addition to the time that its body takes at the slowest accepted rate. */
const CALL_TIMEOUT_MS = 60_000;
const SLOWEST_BYTES_PER_S = 64 * 1024;
/** The clock difference at which the server's clock is adopted. Servers accept requests whose time is wrong by at most 15 minutes. */
const NOTABLE_SKEW_MS = 300_000;
const MAX_HEADER_BYTES = 32_768;
const CONNECTIONS = 32;
const KEEP_ALIVE_MS = 4000;
const PIECE_BYTES = 256 * 1024;
const EMPTY_HASH = hash('sha256', '');

/** The options of {@link S3Store}. */
export interface S3Options {
  /** The URL of the bucket with the prefix of all names, if there is one, without a slash at the end. */
  readonly url: string;
  readonly signer: Signer;
  readonly clock: Clock;
}

/** The body of a request. It may be read more than once. */
interface Body {
  readonly sizeBytes: number;
  readonly sha256: () => string;
  readonly content: () => Uint8Array | AsyncIterable<Uint8Array>;
}

interface Request {
  readonly method: 'PUT' | 'GET' | 'HEAD' | 'DELETE';
  /** The name of the object. Undefined for a request to the bucket itself. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly range?: ByteSpan | undefined;
  readonly body?: Body;
}

/** An object store in a bucket. */
export class S3Store implements ObjectStore {
  readonly #bucketPath: string;
  /** The prefix of all keys: empty, or with a slash at the end. */
  readonly #prefix: string;
  readonly #host: string;
  readonly #isSecure: boolean;
  readonly #signer: Signer;
  readonly #clock: Clock;
  readonly #pool: Pool;
  /** How far the server's clock is ahead of this machine's. Measured when the server refuses a request, and 0 before. */
  #aheadMs = 0;

  constructor({ url, signer, clock }: S3Options) {
    const { origin, host, pathname, protocol } = new URL(url);
    const [, bucket = '', ...prefix] = pathname.split('/');
    this.#bucketPath = `/${bucket}`;
    this.#prefix = prefix.map((part) => `${part}/`).join('');
    this.#host = host;
    this.#isSecure = protocol === 'https:';
    this.#signer = signer;
    this.#clock = clock;
    this.#pool = new Pool(origin, {
      connections: CONNECTIONS,
      connect: { timeout: CONNECT_TIMEOUT_MS, autoSelectFamily: true },
      headersTimeout: ANSWER_TIMEOUT_MS,
      bodyTimeout: BODY_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      pipelining: 1,
      allowH2: false,
    });
  }

  /** Reads the file synchronously, so this is for worker threads only. */
  async putFile(name: string, path: string, call?: ObjectCall): Promise<void> {
    assertObjectName(name);
    using file = openFile(name, path);
    const sha256 = () => {
      const digest = createHash('sha256');
      for (const piece of piecesOf(file)) digest.update(piece);
      return digest.digest('hex');
    };
    const content = async function* () {
      yield* piecesOf(file);
    };
    await this.#put(name, { sizeBytes: file.sizeBytes, sha256, content }, call);
  }

  async put(name: string, bytes: Uint8Array, call?: ObjectCall): Promise<void> {
    assertObjectName(name);
    const body = { sizeBytes: bytes.length, sha256: () => hash('sha256', bytes), content: () => bytes };
    await this.#put(name, body, call);
  }

  async get(name: string, span?: ByteSpan, call?: ObjectCall): Promise<Uint8Array | undefined> {
    assertObjectName(name);
    // HTTP has no empty range.
    if (span !== undefined && span.from >= span.until) {
      const head = await this.head(name, call);
      return head && new Uint8Array();
    }
    const answer = await this.#send({ method: 'GET', name, range: span }, call);
    if (answer.isMissing) return undefined;
    const { from, until } = span ?? { from: 0, until: answer.body.length };
    if (answer.status !== (span ? 206 : 200) || answer.body.length !== until - from) {
      throw answer.error(span && answer.isOk ? 'not the requested range' : undefined);
    }
    return answer.body;
  }

  async head(name: string, call?: ObjectCall): Promise<ObjectHead | undefined> {
    assertObjectName(name);
    const answer = await this.#send({ method: 'HEAD', name }, call);
    if (answer.isMissing) return undefined;
    if (!answer.isOk || answer.contentLength === undefined) throw answer.error();
    return { name, sizeBytes: answer.contentLength };
  }

  async delete(name: string, call?: ObjectCall): Promise<void> {
    assertObjectName(name);
    const answer = await this.#send({ method: 'DELETE', name }, call);
    if (!answer.isOk && !answer.isMissing) throw answer.error();
  }

  async *list(prefix: string, call?: ObjectCall): AsyncIterable<ObjectHead> {
    assertObjectPrefix(prefix);
    let token: string | undefined;
    do {
      const query = {
        'list-type': '2',
        prefix: this.#prefix + prefix,
        ...(token !== undefined && { 'continuation-token': token }),
      };
      const answer = await this.#send({ method: 'GET', query }, call);
      if (answer.status !== 200) throw answer.error();
      const page = listOf(answer);
      for (const { key, sizeBytes } of page.objects) {
        const name = key.slice(this.#prefix.length);
        // A bucket may have objects of other programs.
        if (key.startsWith(this.#prefix + prefix) && isObjectName(name)) yield { name, sizeBytes };
      }
      if (page.next !== undefined && page.next === token) throw answer.error('a list without an end');
      token = page.next;
    } while (token !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  async #put(name: string, body: Body, call: ObjectCall | undefined): Promise<void> {
    const answer = await this.#send({ method: 'PUT', name, body }, call);
    if (!answer.isOk) throw answer.error();
  }

  /**
   * Sends a request, and sends it once more if it was refused because the server's clock differs from this machine's, or if the connection
   * was lost and the request has no body. A server may close an idle connection at any moment.
   */
  async #send(request: Request, call: ObjectCall | undefined): Promise<S3Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const sent = await this.#sendOnce(request, call);
      const isLast = attempt === 2;
      if (sent instanceof ObjectStoreError) {
        if (isLast || request.body !== undefined || !sent.isTemporary) throw sent;
      } else if (isLast || !this.#followsClock(sent)) return sent;
    }
  }

  /**
   * Adopts the server's clock if it differs much and the request was refused with 403. The error code is not checked, because the refusal of
   * a HEAD request has none.
   * @returns whether it was adopted
   */
  #followsClock({ status, date }: S3Answer): boolean {
    if (status !== 403 || date === undefined) return false;
    const aheadMs = date - this.#clock.now();
    if (Math.abs(aheadMs - this.#aheadMs) < NOTABLE_SKEW_MS) return false;
    this.#aheadMs = aheadMs;
    return true;
  }

  /** Sends a request once. @returns an error when there was no complete answer */
  async #sendOnce(request: Request, call: ObjectCall | undefined): Promise<S3Answer | ObjectStoreError> {
    const { method, name, query = {}, range, body } = request;
    const path = encodedPath(name === undefined ? this.#bucketPath : `${this.#bucketPath}/${this.#prefix}${name}`);
    const sizeBytes = body?.sizeBytes ?? (range ? range.until - range.from : 0);
    const limit = AbortSignal.timeout(CALL_TIMEOUT_MS + Math.ceil((1000 * sizeBytes) / SLOWEST_BYTES_PER_S));
    const signal = call?.signal ? AbortSignal.any([call.signal, limit]) : limit;
    call?.signal?.throwIfAborted();
    const headers: Record<string, string> = { host: this.#host };
    if (range !== undefined) headers.range = `bytes=${range.from}-${range.until - 1}`;
    if (body !== undefined) {
      headers['content-length'] = String(body.sizeBytes);
      headers['content-type'] = 'application/octet-stream';
    }
    const payloadHash = this.#isSecure ? UNSIGNED_PAYLOAD : (body?.sha256() ?? EMPTY_HASH);
    const at = ms(this.#clock.now() + this.#aheadMs);
    const what = `${method} ${name ?? 'list'}`;
    try {
      const answer = await this.#pool.request({
        method,
        path: Object.keys(query).length > 0 ? `${path}?${encodedQuery(query)}` : path,
        headers: signedHeaders({ method, path, query, headers, payloadHash, at }, this.#signer),
        body: (body?.content() ?? null) as Uint8Array | null,
        signal,
      });
      return await answerOf(what, answer, range ? range.until - range.from : 0);
    } catch (error) {
      call?.signal?.throwIfAborted();
      if (error instanceof ObjectStoreError) return error;
      return new ObjectStoreError(`${what}: ${reasonOf(error)}`, { cause: error, isTemporary: true });
    }
  }
}

interface ListPage {
  readonly objects: readonly { readonly key: string; readonly sizeBytes: number }[];
  readonly next: string | undefined;
}

function listOf(answer: S3Answer): ListPage {
  try {
    const root = readXml(answer.body.toString());
    const objects = root.children
      .filter(({ name }) => name === 'Contents')
      .map((each) => {
        const [key, size] = [textOf(each, 'Key'), textOf(each, 'Size')];
        if (key === undefined || !/^\d{1,15}$/.test(size ?? ''))
          throw new MalformedXml('an object without name or size');
        return { key, sizeBytes: Number(size) };
      });
    const isTruncated = textOf(root, 'IsTruncated');
    const next = textOf(root, 'NextContinuationToken');
    if (root.name !== 'ListBucketResult' || !['true', 'false'].includes(isTruncated ?? '')) {
      throw new MalformedXml('not a list');
    }
    if (isTruncated === 'true' && next === undefined) throw new MalformedXml('a list that cannot be continued');
    return { objects, next: isTruncated === 'true' ? next : undefined };
  } catch (error) {
    if (error instanceof MalformedXml) throw answer.error(`an unreadable list (${error.message})`);
    throw error;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'no answer in time';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'the request failed';
}

interface OpenFile extends Disposable {
  readonly descriptor: number;
  readonly sizeBytes: number;
}

function openFile(name: string, path: string): OpenFile {
  try {
    const descriptor = openSync(path, 'r');
    return { descriptor, sizeBytes: fstatSync(descriptor).size, [Symbol.dispose]: () => closeSync(descriptor) };
  } catch (cause) {
    throw new ObjectStoreError(`PUT ${name}: ${(cause as NodeJS.ErrnoException).code}`, { cause, isTemporary: false });
  }
}

function* piecesOf({ descriptor, sizeBytes }: OpenFile): Generator<Uint8Array> {
  for (let at = 0; at < sizeBytes; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, sizeBytes - at));
    const read = readSync(descriptor, piece, 0, piece.length, at);
    if (read === 0) throw new Error('the file became shorter');
    yield piece.subarray(0, read);
    at += read;
  }
}
