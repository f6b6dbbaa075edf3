/**
 * A small S3 server in memory that fails on command, in the ways in which real ones do.
 */
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '#domain/secret.ts';
import type { ObjectSettings } from '#objects/config.ts';
import { waitFor } from './wait-for.ts';

/** How the server treats a request. */
export type Fault =
  /** The request is refused and nothing happens. */
  | { readonly type: 'refused'; readonly status: number; readonly code: string }
  /** The connection is cut when half of the request's body has come. */
  | { readonly type: 'cut_request' }
  /** The connection is cut in the middle of the answer. */
  | { readonly type: 'cut_answer' }
  /** The request is carried out, and the connection is cut before the answer. */
  | { readonly type: 'lost_answer' }
  /** An object is stored, or reported, with one byte too few. */
  | { readonly type: 'wrong_length' }
  /** Nothing happens until the promise resolves. */
  | { readonly type: 'slow'; readonly until: Promise<unknown> }
  /** The answer is this text, whatever was requested. */
  | { readonly type: 'answer'; readonly status: number; readonly text: string };

/** A request as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  /** The name of the object without bucket and prefix. Empty for a list. */
  readonly name: string;
}

/** A running server. */
export interface ObjectServer extends AsyncDisposable {
  readonly port: number;
  readonly settings: ObjectSettings;
  /** By name, without the prefix. */
  readonly objects: Map<string, Buffer>;
  readonly requests: SeenRequest[];
  /** The largest number of requests that were in progress at once. */
  readonly mostAtOnce: number;
  /** Asked about every request. */
  faultOf: (request: SeenRequest) => Fault | undefined;
  /** How far its clock is ahead of this machine's. */
  aheadMs: number;
  /** Refuses connections from now on, or accepts them again under the same port. */
  away(isAway: boolean): Promise<void>;
}

const BUCKET = 'recordings';
const PREFIX = 'some/prefix/';
const MAX_SKEW_MS = 15 * 60_000;
/** The number of objects on one page of a list. It is small, so that tests get several pages. */
const PAGE = 7;

/** Starts a server. @param now its clock, without {@link ObjectServer.aheadMs} */
export async function startObjectServer(now: () => number = Date.now): Promise<ObjectServer> {
  const time = () => now() + server.aheadMs;
  const objects = new Map<string, Buffer>();
  const requests: SeenRequest[] = [];
  let open = 0;
  let mostAtOnce = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, 'http://localhost');
    const root = `/${BUCKET}/${PREFIX}`;
    const seen = {
      method: request.method!,
      name: url.pathname.startsWith(root) ? decodeURIComponent(url.pathname.slice(root.length)) : '',
    };
    requests.push(seen);
    const fault = server.faultOf(seen);
    if (fault?.type === 'slow') await fault.until;
    if (fault?.type === 'refused') return refuse(request, response, time(), fault.status, fault.code);
    if (fault?.type === 'answer') {
      request.resume();
      response.writeHead(fault.status).end(fault.text);
      return;
    }
    const body = await bodyOf(request, fault?.type === 'cut_request');
    if (body === undefined) return;
    const refusal = refusalOf(request, body, time());
    if (refusal !== undefined) return refuse(request, response, time(), ...refusal);
    const result = carryOut(seen, request, url, body, fault);
    if (fault?.type === 'lost_answer' || (fault?.type === 'cut_answer' && result.body.length === 0)) {
      request.socket.destroy();
      return;
    }
    response.writeHead(result.status, { 'content-length': result.sizeBytes ?? result.body.length });
    if (fault?.type === 'cut_answer') {
      response.write(result.body.subarray(0, result.body.length / 2), () => request.socket.destroy());
    } else response.end(result.body);
  };

  const carryOut = (
    { method, name }: SeenRequest,
    request: IncomingMessage,
    url: URL,
    body: Buffer,
    fault: Fault | undefined,
  ): { status: number; body: Buffer; sizeBytes?: number } => {
    const tooFew = fault?.type === 'wrong_length' ? 1 : 0;
    const nothing = Buffer.alloc(0);
    if (url.searchParams.get('list-type') === '2') return { status: 200, body: listPage(objects, url) };
    const object = objects.get(name);
    switch (method) {
      case 'PUT':
        objects.set(name, body.subarray(0, body.length - tooFew));
        return { status: 200, body: nothing };
      case 'DELETE':
        objects.delete(name);
        return { status: 204, body: nothing };
      case 'HEAD':
        if (object === undefined) return { status: 404, body: nothing };
        return { status: 200, body: nothing, sizeBytes: object.length - tooFew };
      case 'GET': {
        if (object === undefined) return { status: 404, body: errorBody('NoSuchKey') };
        const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
        if (range === null) return { status: 200, body: object.subarray(0, object.length - tooFew) };
        return { status: 206, body: object.subarray(Number(range[1]), Number(range[2]) + 1 - tooFew) };
      }
      default:
        return { status: 405, body: errorBody('MethodNotAllowed') };
    }
  };

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    open += 1;
    mostAtOnce = Math.max(mostAtOnce, open);
    response.once('close', () => {
      open -= 1;
    });
    request.on('error', () => {});
    response.on('error', () => {});
    void answer(request, response);
  };
  let http = createServer(listener).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const close = async () => {
    if (!http.listening) return;
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  };
  const server: ObjectServer = {
    port,
    settings: {
      s3Url: `http://127.0.0.1:${port}/${BUCKET}/${PREFIX.slice(0, -1)}`,
      s3Region: 'us-east-1',
      s3AccessKeyId: ACCESS_KEY_ID,
      s3SecretAccessKey: new Secret(SECRET_ACCESS_KEY),
    },
    objects,
    requests,
    get mostAtOnce() {
      return mostAtOnce;
    },
    faultOf: () => undefined,
    aheadMs: 0,
    async away(isAway) {
      await close();
      if (isAway) return;
      http = createServer(listener);
      await waitFor(() => listens(http, port), { what: `port ${port} to be free again` });
    },
    [Symbol.asyncDispose]: close,
  };
  return server;
}

/** Listens on a port. Returns false when the port is taken, for example by an outgoing connection of another process. */
async function listens(http: Server, port: number): Promise<boolean> {
  try {
    await once(http.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return false;
  }
}

/** What the server accepts. */
export const ACCESS_KEY_ID = 'AKIDOFTHETESTS';
export const SECRET_ACCESS_KEY = 'secret-of-the-tests-Zu7ohs3eiphaeQu';

/** Why the request is refused: its sender, its time, its signature or its body. s3rver accepts any signature. */
function refusalOf(request: IncomingMessage, body: Buffer, now: number): [number, string] | undefined {
  const { authorization = '', 'x-amz-date': time, 'x-amz-content-sha256': sha256 } = request.headers;
  if (!authorization.includes(`Credential=${ACCESS_KEY_ID}/`)) return [403, 'InvalidAccessKeyId'];
  const at = Date.parse(String(time).replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'));
  if (!(Math.abs(at - now) <= MAX_SKEW_MS)) return [403, 'RequestTimeTooSkewed'];
  if (!authorization.endsWith(`Signature=${signatureOf(request)}`)) return [403, 'SignatureDoesNotMatch'];
  if (sha256 !== createHash('sha256').update(body).digest('hex')) return [400, 'XAmzContentSHA256Mismatch'];
  return undefined;
}

/** The signature that the request must have, computed from the bytes that were received. The query is neither sorted nor encoded again. */
function signatureOf({ method, url, headers }: IncomingMessage): string {
  const [, day = '', region = '', names = ''] =
    /Credential=[^/]+\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+),/.exec(headers.authorization!) ?? [];
  const [path, query = ''] = url!.split('?');
  const header = (name: string) => String(headers[name] ?? '');
  const lines = names.split(';').map((name) => `${name}:${header(name)}\n`);
  const canonical = `${method}\n${path}\n${query}\n${lines.join('')}\n${names}\n${header('x-amz-content-sha256')}`;
  const digest = createHash('sha256').update(canonical).digest('hex');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const key = hmac(hmac(hmac(hmac(`AWS4${SECRET_ACCESS_KEY}`, day), region), 's3'), 'aws4_request');
  const text = `AWS4-HMAC-SHA256\n${header('x-amz-date')}\n${day}/${region}/s3/aws4_request\n${digest}`;
  return hmac(key, text).toString('hex');
}

function refuse(request: IncomingMessage, response: ServerResponse, now: number, status: number, code: string): void {
  request.resume();
  const date = new Date(now).toUTCString();
  const body = errorBody(code);
  response.writeHead(status, { date, 'content-length': request.method === 'HEAD' ? 0 : body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Reads the body. Undefined when the connection was cut before its end. */
async function bodyOf(request: IncomingMessage, isCut: boolean): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const { socket } = request;
  const half = Number(request.headers['content-length'] ?? 0) / 2;
  let sizeBytes = 0;
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      pieces.push(piece);
      sizeBytes += piece.length;
      if (isCut && sizeBytes >= half) break;
    }
  } catch {
    return undefined; // the client is gone
  }
  if (isCut) {
    socket.destroy();
    return undefined;
  }
  return Buffer.concat(pieces);
}

/** Writes an error that contains everything that a client might leak, as errors of real servers do. */
function errorBody(code: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>words of the server</Message><AWSAccessKeyId>${ACCESS_KEY_ID}</AWSAccessKeyId></Error>`,
  );
}

function listPage(objects: ReadonlyMap<string, Buffer>, url: URL): Buffer {
  const prefix = url.searchParams.get('prefix') ?? '';
  const after = url.searchParams.get('continuation-token') ?? '';
  const keys = Array.from(objects.keys(), (name) => PREFIX + name).filter(
    (key) => key.startsWith(prefix) && key > after,
  );
  const page = keys.sort().slice(0, PAGE);
  const contents = page.map((key) => {
    const name = key.slice(PREFIX.length);
    return `<Contents><Key>${key}</Key><Size>${objects.get(name)!.length}</Size><Owner><ID>1</ID></Owner></Contents>`;
  });
  const next = keys.length > PAGE ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${BUCKET}</Name><IsTruncated>${next !== ''}</IsTruncated>${contents.join('')}${next}</ListBucketResult>`,
  );
}
