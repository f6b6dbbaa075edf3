/**
 * Signs requests with AWS Signature Version 4, in the `Authorization` header.
 */
import { createHmac, hash } from 'node:crypto';
import type { Secret } from '#domain/secret.ts';
import type { Milliseconds } from '#lib/units.ts';

/** Takes the place of the payload's hash where TLS protects the payload. */
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';

/** The credentials with which requests are signed, and the region of the server that checks the signatures. */
export interface Signer {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
}

/** A request to be signed. */
export interface UnsignedRequest {
  readonly method: string;
  /** The path as it will be sent: encoded by {@link encodedPath}. */
  readonly path: string;
  /** The parameters, not encoded. */
  readonly query: Readonly<Record<string, string>>;
  /** The headers that are signed. Names are in lower case, and `host` is among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hex, or {@link UNSIGNED_PAYLOAD}. */
  readonly payloadHash: string;
  /** The time by the server's clock. The server accepts a difference of at most 15 minutes. */
  readonly at: Milliseconds;
}

/** Signs a request. Returns its headers and those of the signature: `x-amz-date`, `x-amz-content-sha256` and `authorization`. */
export function signedHeaders(request: UnsignedRequest, signer: Signer): Record<string, string> {
  const { method, path, query, payloadHash, at } = request;
  const time = new Date(at).toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-content-sha256': payloadHash,
    'x-amz-date': time,
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    method,
    path,
    encodedQuery(query),
    ...names.map((name) => `${name}:${headers[name]!.trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    payloadHash,
  ].join('\n');
  const scope = `${day}/${signer.region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n');
  const key = [day, signer.region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${signer.secretAccessKey.reveal()}`,
  );
  const signature = createHmac('sha256', key).update(text).digest('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${signer.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return headers;
}

/** Encodes a path as S3 requires: all bytes except `A-Z a-z 0-9 - . _ ~ /`. */
export const encodedPath = (path: string): string => path.split('/').map(encoded).join('/');

/** Encodes a query as it is sent and signed: sorted, with an `=` after every name. Without the `?`. */
export function encodedQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
