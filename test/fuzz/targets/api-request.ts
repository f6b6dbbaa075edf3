/**
 * Requests to the running API with a real store: URLs, headers and JSON bodies.
 */
import type { InjectOptions } from 'fastify';
import { startApi } from '#test/api/server.ts';
import { behaviour, magnitude, must, type Reader, type Target } from '../target.ts';

const ID = '66e2161c-7670-4d05-b71d-da2d6979556f';
/** Stands for the API key in the text of an input. A mutation of it makes a wrong key. */
const KEY = '{KEY}';

/** Writes a request much as HTTP does: the first line, the headers, an empty line, and the body. */
const request = (line: string, body = '', ...headers: readonly string[]): Buffer =>
  Buffer.from(
    [
      line,
      `authorization: Bearer ${KEY}`,
      ...(body === '' ? [] : ['content-type: application/json']),
      ...headers,
      '',
      body,
    ].join('\n'),
  );

const PROFILE =
  '{"name":"720p","bitrate":2000000,"fps":30,"fpsDen":1,"width":1280,"height":720,"gop":"2","profile":"H264High","quality":20,"encoder":"H.264"}';

const JSON_TOKENS = [
  '"__proto__":',
  '"constructor":',
  'null',
  '1e999',
  '\\u0000',
  '\\ud800',
  '\xff',
  '{}',
  '[]',
  '""',
  '-1',
  '0.5',
];
const URL_TOKENS = [
  '%00',
  '%2f',
  '..',
  '?',
  '&',
  '//',
  ';',
  KEY,
  '/api/',
  'DELETE',
  'HEAD',
  'OPTIONS',
  '/rotate-key',
  '/terminate',
];

/** Every answer is proper: no status 5xx except 501, an error always in the common JSON shape, and never the API key. */
export const apiRequestTarget: Target = {
  name: 'api-request',
  corpus: [
    request('POST /api/stream', `{"name":"a","profiles":[${PROFILE}],"creatorId":"c","userTags":{"a":1,"b":["x",2]}}`),
    request('POST /api/stream', '{"name":"b","profiles":[]}', 'idempotency-key: abc'),
    request(`PATCH /api/stream/${ID}`, '{"suspended":true,"record":false}'),
    request(`PUT /api/stream/${ID}`, '{"name":"c"}'),
    request('POST /api/api-token', '{"name":"k","access":{"rules":[{"resources":["stream"],"methods":["get"]}]}}'),
    request('POST /api/access-control', '{}'),
    request('POST /api/user', '{"name":"u"}'),
    request('PATCH /api/user/me', '{"suspended":false}'),
    request(`GET /api/stream?limit=3&filters=${encodeURIComponent(`[{"id":"id","value":"${ID}"}]`)}`),
    request(`GET /api/session?parentId=${ID}&order=lastSeen-true`),
    request('GET /api/audit?limit=2', '', 'x-request-id: abc', 'host: localhost:8080'),
    request('POST /api/clip', '{"playbackId":"0123456789abcdef","startTime":1,"endTime":2.5,"name":"c"}'),
    request(`PATCH /api/asset/${ID}`, '{"name":"c","playbackPolicy":{"type":"jwt"}}'),
    request(`GET /api/asset?phase=ready&filters=${encodeURIComponent('[{"id":"sourceType","value":"clip"}]')}`),
    request(`DELETE /api/stream/${ID}`, '', 'if-none-match: "a"'),
    request('GET /healthz', '', 'accept-encoding: gzip'),
  ],
  dictionary: [...JSON_TOKENS, ...URL_TOKENS],
  maxBytes: 4096,
  inputsInTests: 300,
  open,
};

async function open(): Promise<Reader> {
  const closing: (() => unknown)[] = [];
  const settings = { MILLRACE_API_RATE_LIMIT: '0', MILLRACE_WRONG_KEYS_PER_MINUTE: '100000' };
  const { http, makeKey } = await startApi({ after: (close) => void closing.push(close) }, settings);
  const { secret } = await makeKey('admin');
  return {
    async read(input) {
      const { statusCode, headers, payload } = await http.inject(
        requestOf(input.toString('latin1').replaceAll(KEY, secret)),
      );
      must(statusCode < 500 || statusCode === 501, () => `${statusCode}: ${payload.slice(0, 200)}`);
      const isJson = String(headers['content-type']).startsWith('application/json');
      const said = payload === '' || !isJson ? undefined : (JSON.parse(payload) as { errors?: readonly unknown[] });
      must(statusCode < 400 || payload === '' || said?.errors !== undefined, () => `${statusCode} without an error`);
      must(!payload.includes(secret), () => 'the answer holds the key');
      return behaviour(statusCode, statusCode < 400 ? magnitude(payload.length) : sentenceOf(said));
    },
    async [Symbol.asyncDispose]() {
      for (const close of closing) await close();
    },
  };
}

/** A number for the first sentence of an error. */
function sentenceOf(said: { readonly errors?: readonly unknown[] } | undefined): number {
  const letters = JSON.stringify(said?.errors?.[0] ?? '').replaceAll(/\d/g, '');
  return behaviour(...Buffer.from(letters));
}

/** Reads the text of an input as a request. What Node's HTTP parser would refuse is replaced, because that parser is not tested here. */
function requestOf(text: string): InjectOptions {
  const [head = '', ...rest] = text.split('\n\n');
  const [line = '', ...headerLines] = head.split('\n');
  const [method = 'GET', ...target] = line.split(' ');
  const headers = headerLines.map((header) => {
    const [name = '', ...value] = header.split(':');
    return [name.replaceAll(/[^\w-]/g, '-').toLowerCase() || 'x', value.join(':').trim()] as const;
  });
  const known = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
  const path = `/${target
    .join('')
    .replaceAll(/[^!-~]/g, '%20')
    .replace(/^\/+/, '')}`;
  return {
    method: known.find((each) => each === method) ?? 'GET',
    url: URL.canParse(path, 'http://localhost') ? path : '/',
    headers: Object.fromEntries(headers.filter(([name]) => name !== 'content-length')),
    ...(rest.length > 0 && rest.join('\n\n') !== '' && { payload: Buffer.from(rest.join('\n\n'), 'latin1') }),
  };
}
