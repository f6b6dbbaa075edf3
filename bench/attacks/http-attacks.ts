/**
 * Attacks over plain HTTP by somebody without a key.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, type AttackRun, inTurn } from './attack.ts';
import { type Connects, connects, flood } from './flood.ts';

/** The length of a long path or header. The server accepts 16 kB for both together. */
const LARGE = 15_000;
/** The characters of a playback id. */
const ID_CHARACTERS = '0123456789abcdefghjkmnpqrstvwxyz';
/** How many different requests are made before the attack, to be sent in turn. */
const VARIANTS = 1024;
const CONNECTIONS = 60;

/** One byte of each kind that a header parser or a regular expression may treat in its own way. */
const BYTES: Readonly<Record<string, string>> = {
  blanks: ' ',
  tabs: '\t',
  'no-break spaces': '\xa0',
  digits: '7',
  letters: 'a',
  commas: ',',
  semicolons: ';',
  equals: '=',
  quotes: '"',
  backslashes: '\\',
  slashes: '/',
  dots: '.',
  colons: ':',
  dashes: '-',
  percent: '%',
  parentheses: '(',
  'high bytes': '\xff',
};
/** Long texts of each kind of byte, alone and in turn with others, because a change of kind is what makes expressions backtrack. */
const FILLERS: readonly string[] = Object.values(BYTES).flatMap((byte) => [
  byte.repeat(LARGE),
  `${byte}x`.repeat(LARGE / 2),
  `${byte}, `.repeat(LARGE / 3),
]);

const HEADERS = [
  'accept-encoding',
  'accept-language',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'idempotency-key',
  'if-none-match',
  'if-range',
  'origin',
  'range',
  'referer',
  'transfer-encoding',
  'user-agent',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-millrace-viewers',
  'x-request-id',
];

/** The attacks, by their names in the table of results. */
export const HTTP_ATTACKS: Readonly<Record<string, Attack>> = {
  'authorization of blanks and a no-break space': requests(() =>
    inTurn([get('/api/stream', { authorization: `Bearer ${' '.repeat(LARGE)}\xa0` })]),
  ),
  'authorization of every kind of byte': requests(() =>
    inTurn(
      FILLERS.flatMap((filler) => [
        get('/api/stream', { authorization: `Bearer ${filler}` }),
        get('/api/stream', { authorization: `${filler} Bearer x` }),
        get('/api/stream', { authorization: `Bearer x${filler.slice(0, -1)}\xa0` }),
      ]),
    ),
  ),
  'other headers of every kind of byte': requests(({ target }) =>
    inTurn(
      FILLERS.flatMap((filler) =>
        HEADERS.flatMap((name) => [
          get('/api/stream', { [name]: filler }),
          get(target.playlistPath, { [name]: `${VALID[name] ?? ''}${filler}` }),
        ]),
      ),
    ),
  ),
  'thousands of headers': requests(() =>
    inTurn([
      get('/api/stream', Object.fromEntries(Array.from({ length: 1900 }, (_, index) => [`a${index}`, '']))),
      raw(`GET /api/stream HTTP/1.1\r\nhost: x\r\n${'range: bytes=0-1\r\n'.repeat(850)}\r\n`),
    ]),
  ),
  'paths of every shape': requests(({ target }) =>
    inTurn([
      ...['/', '/.', '/..', '/%2e', '/%00', '/%', '/%25', '/a', '/:', '//', '/?', '/;', '/*', '/~'].flatMap((piece) =>
        ['/api', '/api/stream', '/hls', '/play', ''].map((start) =>
          get(`${start}${piece.repeat(LARGE / 2 / piece.length)}`),
        ),
      ),
      get(`/hls/${'a'.repeat(LARGE)}/index.m3u8`),
      get(`${target.playlistPath}${'.m3u8'.repeat(1000)}`),
    ]),
  ),
  'queries of every shape': requests(({ target }) =>
    inTurn(
      [
        `_HLS_msn=${'9'.repeat(LARGE)}`,
        `_HLS_msn=0&${'_HLS_part=0&'.repeat(1000)}`,
        '_HLS_msn=-1',
        '_HLS_msn=abc&_HLS_part=x',
        '_HLS_part=3',
        '_HLS_msn=9007199254740993',
        'a&'.repeat(LARGE / 2),
        'a=%'.repeat(LARGE / 3),
        '%00=%ff&'.repeat(LARGE / 8),
        '__proto__=1&constructor=1',
        '='.repeat(LARGE),
        '&'.repeat(LARGE),
        `limit=${'1'.repeat(1000)}`,
      ].flatMap((query) => [get(`${target.playlistPath}?${query}`), get(`/api/stream?${query}`)]),
    ),
  ),
  'every route of the API': async (run) => {
    const routes = await apiRoutes(run.target.httpPort);
    await requests(() => inTurn(routes))(run);
  },
  'unknown paths': requests(() => inTurn(several(() => get(`/${randomId()}/${randomId()}`)))),
  'unknown playback ids': requests(() => inTurn(several(() => get(`/hls/${randomId()}/index.m3u8`)))),
  'unknown media': requests(({ target }) => {
    const folder = target.playlistPath.slice(0, target.playlistPath.lastIndexOf('/'));
    return inTurn(several(() => get(`${folder}/${randomId()}/${randomInt(1e6)}.${randomInt(12)}.m4s`)));
  }),
  'wrong API keys': requests(() =>
    inTurn(several(() => get('/api/stream', { authorization: `Bearer ${randomBytes(32).toString('base64url')}` }))),
  ),
  'bodies without a key': requests(() => inTurn(BODIES.flatMap((body) => [post('/api/stream', body)]))),
  'odd methods, versions and hosts': requests(() =>
    inTurn(
      [
        ...['OPTIONS', 'HEAD', 'TRACE', 'PROPFIND', 'PATCH', 'DELETE', 'PUT'].map(
          (method) => `${method} /api/stream HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`,
        ),
        'GET /healthz HTTP/1.0\r\nconnection: keep-alive\r\n\r\n',
        'GET /api/stream HTTP/1.1\r\n\r\n',
        'GET http://example.com/api/stream HTTP/1.1\r\nhost: y\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n',
      ].map(raw),
    ),
  ),
  'bytes that are not HTTP': connecting({
    perS: 1000,
    lingerMs: 1000,
    use: async (socket) => void socket.write(randomBytes(16_000)),
  }),
  'HTTP connections that say nothing': connecting({ perS: 1000, lingerMs: 100 }),
  'headers that come a byte at a time': slowHeaders,
};

/** How a header's value must begin so that its parser looks at the rest. */
const VALID: Readonly<Record<string, string>> = {
  range: 'bytes=',
  'if-none-match': 'W/"',
  'accept-encoding': 'gzip;q=',
  forwarded: 'for=',
};

/** Bodies that are refused unread, or read and then refused. */
const BODIES: readonly string[] = [
  `{"name":${'['.repeat(30_000)}`,
  `{"name":"${'\\u0000'.repeat(8000)}"}`,
  `[${'{},'.repeat(15_000)}{}]`,
  ' '.repeat(60_000),
];

/** A flood of requests that differs from others only in what it asks for. */
function requests(nextFor: (run: AttackRun) => () => Buffer): Attack {
  return async (run) => {
    const next = nextFor(run);
    const { httpPort: port } = run.target;
    await flood({ port, connections: CONNECTIONS, next: () => ({ bytes: next(), requests: 1 }) }, run);
  };
}

/** A request to each operation in the server's OpenAPI document, with ids of nothing. */
async function apiRoutes(port: number): Promise<readonly Buffer[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/openapi.json`);
  const { paths } = (await answer.json()) as { paths: Readonly<Record<string, object>> };
  return Object.entries(paths).flatMap(([path, operations]) => {
    const filled = `/api${path}`.replaceAll(/\{\w+\}/g, () => randomUUID());
    return Object.keys(operations).map((method) =>
      raw(`${method.toUpperCase()} ${filled} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n\r\n`),
    );
  });
}

function connecting(how: Omit<Connects, 'port'>): Attack {
  return (run) => connects({ ...how, port: run.target.httpPort }, run);
}

/** Requests that never end: many connections, each of which sends a header a byte a second. */
async function slowHeaders(run: AttackRun): Promise<void> {
  const use: Connects['use'] = async (socket) => {
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\na: ');
    while (socket.writable && !run.signal.aborted) {
      socket.write('b');
      await sleep(1000);
    }
  };
  await connects({ port: run.target.httpPort, perS: 200, lingerMs: 60_000, use }, run);
}

function get(path: string, headers: Readonly<Record<string, string>> = {}): Buffer {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return raw(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
}

function post(path: string, body: string): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n`;
  return raw(`${head}content-length: ${body.length}\r\n\r\n${body}`);
}

/** The bytes of a request. Headers are Latin-1. */
function raw(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

const several = (make: () => Buffer): readonly Buffer[] => Array.from({ length: VARIANTS }, make);

/** A text in the form of a playback id. */
function randomId(): string {
  return Array.from(randomBytes(16), (byte) => ID_CHARACTERS[byte % ID_CHARACTERS.length]).join('');
}
