import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import type { Asset } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import {
  type AssetId,
  type MediaPath,
  newApiKeyId,
  newMediaPath,
  newNodeId,
  newPlaybackId,
  newSessionId,
  newUserId,
  type PlaybackId,
} from '#domain/ids.ts';
import { OwnerTokens } from '#domain/owner-token.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { QUOTA_NAMES, type Quotas } from '#domain/quotas.ts';
import { Secret } from '#domain/secret.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import { systemClock } from '#lib/clock.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { Audience, LiveDirectory } from '#live/live.ts';
import { originPlugin } from '#origin/origin.ts';
import type { AskReceiver } from '#origin/rights/gate-calls.ts';
import type { Excerpt, Library, Recorded, VirtualFile } from '#recording/recording.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { signToken, someSigningPair } from '#test/support/playback-rights.ts';
import { someStream, someUser } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { ExtentElsewhere } from './extent-elsewhere.ts';

const EPOCH = 1_790_000_000_000;
const at = (seconds: number): Milliseconds => ms(EPOCH + seconds * 1000);
const MP4 = randomBytes(300_000);
const PIECE_BYTES = 16_384;
const MULTIVARIANT = `#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="main",URI="audio.m3u8QUERY"
#EXT-X-STREAM-INF:BANDWIDTH=1000000,AUDIO="audio"
source.m3u8QUERY
`;
const MEDIA = `#EXTM3U
#EXT-X-PLAYLIST-TYPE:EVENT
#EXT-X-MAP:URI="source/init-0.mp4"
#EXTINF:2.00000,
source/0.m4s
`;
const VTT = 'WEBVTT\n\n00:00:00.000 --> 00:00:10.000\nsheet-0.jpg#xywh=0,0,160,90\n';

/** Bytes in memory, given out in small pieces. Counts what is read. */
class MemorySource implements VirtualFile {
  readonly etag = 'a-file';
  readonly lost: AbortSignal;
  readonly #bytes: Buffer;
  readonly #onRead: (sizeBytes: number) => void;

  constructor(
    bytes: Buffer,
    onRead: (sizeBytes: number) => void = () => undefined,
    lost = new AbortController().signal,
  ) {
    this.#bytes = bytes;
    this.lost = lost;
    this.#onRead = onRead;
  }

  get sizeBytes(): number {
    return this.#bytes.length;
  }

  async *read(from: number, until: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (let first = from; first < until; first += PIECE_BYTES) {
      signal.throwIfAborted();
      const piece = this.#bytes.subarray(first, Math.min(until, first + PIECE_BYTES));
      this.#onRead(piece.length);
      yield piece;
      await turn();
    }
  }
}

interface SetUp {
  readonly policy?: PlaybackPolicy;
  readonly asset?: Partial<Asset>;
  readonly dvr?: 'on' | 'off';
  readonly isRunning?: boolean;
  readonly mp4?: Buffer;
  readonly lengthS?: number;
  readonly isOwner?: boolean;
  /** The URL of the node whose disk has the recording, which this one is not. */
  readonly elsewhere?: string;
  /** The signing key of the owner. By default a new one. */
  readonly signing?: ReturnType<typeof someSigningPair>;
  /** The receiver of a policy of type `webhook`. By default no call is expected. */
  readonly askReceiver?: AskReceiver;
}

const NO_QUOTAS = Object.fromEntries(QUOTA_NAMES.map((name) => [name, 0])) as Quotas;
const CLUSTER_SECRET = new Secret('shared by all nodes');

/** Makes requests over a real connection. */
function asker(port: number) {
  return async (
    asked:
      | string
      | {
          url: string;
          method?: string;
          headers?: Readonly<Record<string, string | string[] | undefined>>;
          localAddress?: string;
        },
  ) => {
    const {
      url,
      method = 'GET',
      headers = {},
      localAddress = '127.0.0.1',
    } = typeof asked === 'string' ? { url: asked } : asked;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    httpRequest({ host: '127.0.0.1', port, localAddress, path: url, method, headers, agent: false }, resolve)
      .on('error', reject)
      .end();
    const answer = await promise;
    const rawPayload = Buffer.concat((await answer.toArray()) as Buffer[]);
    const { statusCode } = answer;
    const body = rawPayload.toString();
    return { statusCode, headers: answer.headers, rawPayload, body, json: () => JSON.parse(body) as unknown };
  };
}

/** One recording, of four minutes by default, behind the real routes. */
async function setUp(
  t: TestContext,
  {
    policy,
    asset: change,
    dvr = 'on',
    isRunning,
    mp4 = MP4,
    lengthS = 240,
    isOwner,
    elsewhere,
    signing,
    askReceiver,
  }: SetUp = {},
) {
  const userId = change?.userId ?? newUserId();
  const stream = someStream(userId, { playbackPolicy: policy });
  const owner = { ...someUser(), id: userId };
  const nodeId = newNodeId();
  const sessionId = newSessionId();
  const path = newMediaPath();
  const asset: Asset = {
    id: sessionId as string as AssetId,
    kind: 'recording',
    userId,
    streamId: stream.id,
    sessionId,
    playbackId: newPlaybackId(),
    path,
    mediaPath: path,
    clippedFrom: undefined,
    fromMs: at(0),
    untilMs: at(240),
    name: 'a recording',
    creatorId: undefined,
    createdAt: ms(1),
    updatedAt: ms(1),
    phase: isRunning ? 'recording' : 'ready',
    failure: undefined,
    durationS: 240,
    sizeBytes: 1000,
    tracks: [
      { kind: 'video', rendition: 'source', codec: 'h264', bitrateBps: 1000, width: 640, height: 360 },
      { kind: 'audio', rendition: 'audio', codec: 'aac', bitrateBps: 100 },
    ],
    nodeId,
    isStored: false,
    playbackPolicy: undefined,
    ...change,
  };
  const recording: Asset = { ...asset, kind: 'recording', path: asset.mediaPath };
  const calls: { readonly what: string; readonly excerpt: Excerpt; readonly more?: unknown }[] = [];
  const note = (what: string, excerpt: Excerpt, more?: unknown) => {
    calls.push(more === undefined ? { what, excerpt } : { what, excerpt, more });
  };
  const read = { bytes: 0 };
  const lost = new AbortController();
  const playlist = new PlaylistText(MEDIA, false);
  const mediaUrls: string[] = [];
  const movieAddresses: string[] = [];
  const prepared = new Set<string>();
  const recorded: Recorded = {
    isRunning: asset.phase === 'recording',
    epoch: at(0),
    extent: {
      durationS: lengthS,
      sizeBytes: 1000,
      fromMs: at(0),
      untilMs: at(lengthS),
      tracks: [
        {
          kind: 'video',
          rendition: 'source',
          codec: 'h264',
          rfc6381: 'avc1',
          bitrateBps: 1000,
          width: 640,
          height: 360,
        },
        {
          kind: 'audio',
          rendition: 'audio',
          codec: 'aac',
          rfc6381: 'mp4a',
          bitrateBps: 100,
          channels: 2,
          sampleRate: 48_000,
        },
      ],
    },
    multivariant: (query) => MULTIVARIANT.replaceAll('QUERY', query),
    completed: async () => {},
    prepare: async (rendition) => void prepared.add(rendition),
    publicPlaylist: async (_, own, mediaUrl) => {
      mediaUrls.push(mediaUrl);
      return own;
    },
    playlist: (rendition, excerpt, { skip }) => {
      assert.ok(prepared.has(rendition));
      note(`playlist ${rendition}`, excerpt, skip);
      return rendition === 'source' ? playlist : undefined;
    },
    timeAt: (positionS, fromMs = at(0)) => ms(fromMs + positionS * 1000),
    media: async (rendition, name, excerpt) => {
      note(`media ${rendition}/${name}`, excerpt);
      const source = new MemorySource(Buffer.from('a segment'));
      const isFinal = name === '0.m4s';
      if (!isFinal && name !== '7.m4s') return undefined;
      return Object.assign(source, { contentType: 'video/mp4', etag: `${name}-1`, isFinal, durationMs: 1800 });
    },
    mp4: async (rendition, excerpt, { address }) => {
      movieAddresses.push(address);
      note(`mp4 ${rendition}`, excerpt);
      return ['source', 'audio'].includes(rendition)
        ? new MemorySource(mp4, (size) => (read.bytes += size), lost.signal)
        : undefined;
    },
    mp4End: (rendition) => (rendition === 'source' ? at(240) : undefined),
    picture: async (excerpt, when) => {
      note('picture', excerpt, when);
      return Buffer.from('jpeg');
    },
    storyboard: () => VTT,
    sheet: async (_excerpt, index) => (index === 0 ? Buffer.from('sheet') : undefined),
  };
  const library: { -readonly [Name in keyof Library]: Library[Name] } = {
    open: async (opened) => (opened === asset.mediaPath && elsewhere === undefined ? recorded : undefined),
  };
  const watched: PlaybackId[] = [];
  const usage = { views: 0, bytes: 0, watchedMs: 0 };
  const live: LiveDirectory & Audience = {
    status: () => undefined,
    sessionStatus: () => undefined,
    watch: () => undefined,
    watchPath: () => undefined,
    watchedStream: () => stream,
    viewers: () => 0,
    usageOf: () => assert.fail('only the API calls this'),
    watched: (id, _viewer, _quota, viewOf) => {
      assert.ok(viewOf === undefined || viewOf === stream.playbackId);
      if (viewOf !== undefined) usage.views += 1;
      return watched.push(id) > 0;
    },
    watchedElsewhere: (id, viewers) => {
      usage.views += viewers.filter(({ isNew }) => isNew).length;
      watched.push(id);
    },
    samples: () => undefined,
    delivered: (id, sizeBytes, watchedMs = 0) => {
      assert.equal(id, stream.playbackId);
      usage.bytes += sizeBytes;
      usage.watchedMs += watchedMs;
    },
    takeUnreported: () => [],
    reported: () => undefined,
  };
  const pair = signing ?? someSigningPair(userId);
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 } });
  app.setErrorHandler((error, _request, reply) => {
    assert.ok(error instanceof MillraceError, String(error));
    return reply.code(error.status).send({ code: error.code });
  });
  const lookups: MediaPath[] = [];
  await app.register(originPlugin, {
    live,
    audience: live,
    settings: { maxHeldRequests: 100, dvr },
    targetDurationS: 4,
    metrics: createMetrics(),
    rights: {
      store: {
        streams: { byPlaybackId: async () => stream },
        signingKeys: { ofUser: async () => ({ rows: [pair.key], next: undefined }) },
        apiKeys: { get: async () => ({ userId }) },
        users: { get: async () => ({ id: userId, isAdmin: false, suspended: false }) },
      } as never,
      secret: CLUSTER_SECRET,
      clock: systemClock,
      askReceiver: askReceiver ?? (() => Promise.reject(new Error('no call was expected'))),
    },
    onRefused: () => undefined,
    cluster: {
      secret: CLUSTER_SECRET,
      owners: { store: {} as never, nodeId, keptForMs: 1000, quotas: NO_QUOTAS, clock: systemClock },
    },
    recordings: {
      library,
      nodeId,
      quotas: NO_QUOTAS,
      isOwner: async () => isOwner === true,
      publicUrl: 'https://cdn.example.com/kept',
      store: {
        assets: {
          byPath: async (asked) => {
            lookups.push(asked);
            const node = elsewhere === undefined ? undefined : { id: newNodeId(), url: elsewhere };
            return asked === asset.path ? { asset, node } : undefined;
          },
          byPlaybackId: async (id) => [asset, recording].find((each) => id === each.playbackId || id === each.id),
          getMany: async ([id]) => (id === recording.id ? [recording] : []),
        },
        streams: { getMany: async () => [stream] }, // also a deleted one
        sessions: {
          newest: async (id) =>
            id === stream.playbackId ? { session: { recordingPath: asset.path } as never, node: undefined } : undefined,
        },
        users: { get: async () => owner },
      },
    },
  });
  t.after(() => app.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const folder = `/recordings/${asset.path}`;
  const token = (subject: string) => signToken(pair.privateKey, pair.key.publicKey, { sub: subject });
  return {
    ask: asker(port),
    port,
    asset,
    stream,
    owner,
    /** Ends the recording. */
    end: () => {
      for (const each of [asset, recording]) Object.assign(each, { phase: 'ready' });
    },
    folder,
    library,
    calls,
    read,
    lost,
    watched,
    usage,
    lookups,
    mediaUrls,
    movieAddresses,
    token,
    signing: pair,
  };
}

test('playlists are typed, compressed, tagged and open to all pages; while running they are kept shortly, afterwards longer', async (t) => {
  for (const [isRunning, cacheControl] of [
    [true, 'max-age=0, s-maxage=2'],
    [false, 'max-age=60'],
  ] as const) {
    const { ask, folder } = await setUp(t, { isRunning });
    for (const file of ['index.m3u8', 'source.m3u8']) {
      const { headers, rawPayload } = await ask({
        url: `${folder}/${file}`,
        headers: { 'accept-encoding': 'gzip' },
      });
      assert.equal(headers['content-type'], 'application/vnd.apple.mpegurl');
      assert.equal(headers['access-control-allow-origin'], '*');
      assert.equal(headers['cache-control'], cacheControl);
      assert.match(gunzipSync(rawPayload).toString(), /^#EXTM3U\n/);
      const again = await ask({ url: `${folder}/${file}`, headers: { 'if-none-match': headers.etag! } });
      assert.equal(again.statusCode, 304);
      assert.equal(again.body, '');
    }
    const preflight = await ask({ method: 'OPTIONS', url: `${folder}/source.mp4` });
    assert.equal(preflight.statusCode, 204);
  }
});

for (const [file, lengthS, answered] of [
  ['source.m3u8?from=1', 7200, [22, 8]],
  ['storyboard.vtt', 7200, [22, 8]],
  ['source.m3u8?from=1', 3600, [30, 0]],
  ['source.m3u8', 7200, [30, 0]],
] as const) {
  const what =
    answered[1] > 0 ? 'is made two at a time, and twenty requests of a network may wait' : 'waits for nobody';
  test(`${file} of a recording of ${lengthS / 3600} h ${what}`, async (t) => {
    const { ask, folder } = await setUp(t, { lengthS });
    const compressed = Promise.withResolvers<Uint8Array>();
    let running = 0;
    t.mock.method(PlaylistText.prototype, 'gzip', () => {
      running += 1;
      return compressed.promise;
    });
    let refused = 0;
    const asked = Array.from({ length: 30 }, async () => {
      const { statusCode } = await ask({ url: `${folder}/${file}`, headers: { 'accept-encoding': 'gzip' } });
      if (statusCode === 503) refused += 1;
      return statusCode;
    });
    await waitFor(() => refused + (answered[1] > 0 ? 22 : running) === 30, {
      what: 'all requests to wait or be refused',
    });
    assert.equal(running, answered[1] > 0 ? 2 : 30);
    compressed.resolve(Buffer.from('compressed'));
    const statuses = await Promise.all(asked);
    assert.deepEqual([statuses.filter((status) => status === 200).length, refused], answered);
  });
}

test('delta updates are asked for as players do', async (t) => {
  const { ask, folder, calls } = await setUp(t, { isRunning: true });
  for (const [query, skip] of [
    ['?_HLS_skip=YES', true],
    ['?_HLS_skip=v2', true],
    ['', false],
  ] as const) {
    const { headers } = await ask(`${folder}/source.m3u8${query}`);
    assert.deepEqual(calls.at(-1), {
      what: 'playlist source',
      excerpt: { fromMs: undefined, untilMs: undefined },
      more: skip,
    });
    const isItsOneUrl = query !== '?_HLS_skip=v2';
    assert.equal(headers['cache-control'], isItsOneUrl ? 'max-age=0, s-maxage=2' : 'no-store');
  }
});

test('a span in the URL is a clip: in seconds from the start or in wall-clock time, and handed on to media playlists', async (t) => {
  const { ask, folder, calls } = await setUp(t);
  for (const query of [`from=${at(10)}&to=${at(20)}`, 'from=10&to=20', `from=10&to=${at(20)}`, 'from=10.000&to=20.0']) {
    const index = await ask({
      url: `${folder}/index.m3u8?${query}`,
      headers: { 'accept-encoding': 'identity' },
    });
    assert.match(index.body, new RegExp(`^source\\.m3u8\\?from=${at(10)}&to=${at(20)}$`, 'm'));
    assert.match(index.body, new RegExp(`URI="audio\\.m3u8\\?from=${at(10)}&to=${at(20)}"`));
    assert.equal(index.headers['cache-control'], 'private, max-age=60');
    await ask(`${folder}/source.m3u8?${query}`);
    assert.deepEqual(calls.at(-1)!.excerpt, { fromMs: at(10), untilMs: at(20) });
    await ask(`${folder}/source.mp4?${query}`);
    assert.deepEqual(calls.at(-1)!.excerpt, { fromMs: at(10), untilMs: at(20) });
  }
  for (const query of [
    'from=20&to=10',
    'from=x',
    'to=-1',
    'from=1e3',
    'from=1&from=2',
    `from=${at(20)}&to=10`,
    'to=Infinity',
  ]) {
    const { statusCode } = await ask(`${folder}/index.m3u8?${query}`);
    assert.equal(statusCode, 400, query);
  }
});

test('a clip shows its own span and nothing around it, whatever a URL asks for', async (t) => {
  const clip = { kind: 'clip', path: newMediaPath(), fromMs: at(60), untilMs: at(90) } as const;
  const { ask, folder, calls } = await setUp(t, { asset: clip });
  const excerpts = async (url: string) => {
    await ask(url);
    return calls.at(-1)!.excerpt;
  };
  assert.deepEqual(await excerpts(`${folder}/source.m3u8`), { fromMs: at(60), untilMs: at(90) });
  assert.deepEqual(await excerpts(`${folder}/source.m3u8?from=10&to=20`), { fromMs: at(70), untilMs: at(80) });
  assert.deepEqual(await excerpts(`${folder}/source.m3u8?from=${at(0)}&to=${at(240)}`), {
    fromMs: at(60),
    untilMs: at(90),
  });
  assert.deepEqual(await excerpts(`${folder}/source/0.m4s`), { fromMs: at(60), untilMs: at(90) });
  assert.deepEqual(await excerpts(`${folder}/poster.jpg?at=5`), { fromMs: at(60), untilMs: at(90) });
  assert.deepEqual(calls.at(-1)!.more, at(65));
  assert.equal((await ask(`${folder}/source.m3u8?from=${at(100)}`)).statusCode, 400);
  const index = await ask({ url: `${folder}/index.m3u8`, headers: { 'accept-encoding': 'identity' } });
  assert.match(index.body, /^source\.m3u8$/m);
});

test('an MP4 has its length, type and tag; ranges, suffixes, If-Range and HEAD work as RFC 9110 says', async (t) => {
  const { ask, folder } = await setUp(t);
  const url = `${folder}/source.mp4`;
  const head = await ask({ method: 'HEAD', url });
  assert.deepEqual([head.statusCode, head.headers['content-length'], head.rawPayload.length], [200, '300000', 0]);
  assert.equal(head.headers['content-type'], 'video/mp4');
  const { etag } = head.headers;
  const range = async (headers: Record<string, string>) => {
    const { statusCode, headers: got, rawPayload } = await ask({ url, headers });
    return { statusCode, range: got['content-range'], length: got['content-length'], body: rawPayload };
  };
  for (const [asked, first, last] of [
    ['bytes=0-1', 0, 1],
    ['bytes=100000-', 100_000, 299_999],
    ['bytes=-500', 299_500, 299_999],
    ['bytes=-999999', 0, 299_999],
    ['bytes=299999-400000', 299_999, 299_999],
  ] as const) {
    assert.deepEqual(await range({ range: asked, 'if-range': etag! }), {
      statusCode: 206,
      range: `bytes ${first}-${last}/300000`,
      length: String(last - first + 1),
      body: MP4.subarray(first, last + 1),
    });
  }
  const beyond = await range({ range: 'bytes=300000-' });
  assert.deepEqual([beyond.statusCode, beyond.range], [416, 'bytes */300000']);
  for (const headers of [
    { range: 'bytes=0-1', 'if-range': '"another"' },
    { range: `bytes=${'0-0,'.repeat(3000)}5-9` },
    { range: 'bytes=5-2' },
    { range: 'frames=0-1' },
  ]) {
    assert.deepEqual(await range(headers), { statusCode: 200, range: undefined, length: '300000', body: MP4 });
  }
  assert.equal((await range({ 'if-none-match': etag! })).statusCode, 304);
  const audio = await ask({ method: 'HEAD', url: `${folder}/audio.m4a` });
  assert.equal(audio.headers['content-type'], 'audio/mp4');
});

test('an MP4 of a running recording is redirected to one that ends now, so that every range is of the same file', async (t) => {
  const { ask, folder, calls } = await setUp(t, { isRunning: true });
  const { statusCode, headers } = await ask(`${folder}/source.mp4?from=10&download=a%20show&jwt=x`);
  assert.equal(statusCode, 307);
  assert.equal(headers['cache-control'], 'no-store');
  const location = new URL(headers.location!, `http://host${folder}/source.mp4`);
  assert.deepEqual(Object.fromEntries(location.searchParams), {
    from: String(at(10)),
    to: String(at(240)),
    download: 'a show',
    jwt: 'x',
  });
  const answer = await ask(`${location.pathname}${location.search}`);
  assert.equal(answer.statusCode, 200);
  assert.equal(answer.headers['cache-control'], 'private, max-age=86400, immutable');
  assert.deepEqual(calls.at(-1), { what: 'mp4 source', excerpt: { fromMs: at(10), untilMs: at(240) } });
  assert.equal((await ask(`${folder}/source.mp4?from=500`)).statusCode, 404);
});

test('a download gets the name that is asked for, which cannot break the header or lead into another folder', async (t) => {
  const { ask, folder } = await setUp(t);
  for (const [asked, plain, encoded] of [
    ['', 'source.mp4', 'source.mp4'],
    ['holiday', 'holiday.mp4', 'holiday.mp4'],
    ['holiday.MP4', 'holiday.mp4', 'holiday.mp4'],
    ['Tür "1"\r\nset-cookie: a=b', 'T_r _1___set-cookie_ a=b.mp4', 'T%C3%BCr%20_1___set-cookie_%20a%3Db.mp4'],
    ['../../etc/passwd', '_.._etc_passwd.mp4', '_.._etc_passwd.mp4'],
    ['x'.repeat(5000), `${'x'.repeat(120)}.mp4`, `${'x'.repeat(120)}.mp4`],
    ["it's (1)*", "it's (1)_.mp4", 'it%27s%20%281%29_.mp4'],
  ] as const) {
    const { headers } = await ask(`${folder}/source.mp4?download=${encodeURIComponent(asked)}`);
    assert.equal(headers['content-disposition'], `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`);
  }
  assert.equal((await ask(`${folder}/source.mp4`)).headers['content-disposition'], undefined);
});

test('segments are kept for ever under their one URL, and other names are not found', async (t) => {
  const { ask, folder } = await setUp(t);
  const { body, headers } = await ask(`${folder}/source/0.m4s`);
  assert.equal(body, 'a segment');
  assert.equal(headers['cache-control'], 'max-age=86400, immutable');
  assert.equal(headers.etag, '"0.m4s-1"');
  assert.equal((await ask(`${folder}/source/0.m4s?x=1`)).headers['cache-control'], 'no-store');
  const newest = await ask(`${folder}/source/7.m4s`);
  assert.equal(newest.headers['cache-control'], 'max-age=60', 'it may be lost in a power failure, and made again');
  for (const name of ['1.m4s', '0.m4s.bak', '..%2f..%2fetc%2fpasswd', '%00', '.hidden']) {
    assert.equal((await ask(`${folder}/source/${name}`)).statusCode, 404, name);
  }
});

test('pictures and storyboards are served, and named with the span that they show', async (t) => {
  const { ask, folder, calls } = await setUp(t);
  const poster = await ask(`${folder}/poster.jpg?at=${at(30)}`);
  assert.deepEqual([poster.body, poster.headers['content-type']], ['jpeg', 'image/jpeg']);
  assert.deepEqual(calls.at(-1)!.more, at(30));
  assert.equal((await ask(`${folder}/poster.jpg?at=now`)).statusCode, 400);
  const vtt = await ask({ url: `${folder}/storyboard.vtt`, headers: { 'accept-encoding': 'identity' } });
  assert.deepEqual([vtt.body, vtt.headers['content-type']], [VTT, 'text/vtt']);
  const part = await ask({
    url: `${folder}/storyboard.vtt?from=10&to=20`,
    headers: { 'accept-encoding': 'identity' },
  });
  assert.match(part.body, new RegExp(`^sheet-0\\.jpg\\?from=${at(10)}&to=${at(20)}#xywh=0,0,160,90$`, 'm'));
  assert.equal((await ask(`${folder}/sheet-0.jpg`)).body, 'sheet');
  for (const name of ['sheet-1.jpg', 'sheet-00.jpg', 'sheet-999999.jpg', 'sheet--1.jpg']) {
    assert.equal((await ask(`${folder}/${name}`)).statusCode, 404, name);
  }
});

test('foreign and invented paths open nothing, and are looked up at most once a second', async (t) => {
  const { ask, folder, lookups, calls } = await setUp(t);
  const unknown = newMediaPath();
  for (const path of [unknown, unknown, '..', '%2e%2e', 'x', `${unknown}0`, unknown.toUpperCase()]) {
    for (const file of ['index.m3u8', 'source.mp4', 'source/0.m4s']) {
      assert.equal((await ask(`/recordings/${path}/${file}`)).statusCode, 404);
    }
  }
  for (const file of [
    'manifest.json',
    'index',
    'index.0',
    'source.0.mp4',
    'audio.mp4',
    'source.m4a',
    '..%2fx.mp4',
    '%00.mp4',
  ]) {
    assert.equal((await ask(`${folder}/${file}`)).statusCode, 404, file);
  }
  assert.equal(lookups.filter((path) => path === unknown).length, 1);
  assert.deepEqual(
    calls.filter(({ what }) => what !== 'mp4 source.0'),
    [],
  );
});

test('a playback policy holds for every file: tokens for the recording or its stream, tickets and proofs as for live', async (t) => {
  const { ask, folder, asset, stream, token } = await setUp(t, { policy: { type: 'jwt' } });
  const files = ['index.m3u8', 'source.m3u8', 'source.mp4', 'audio.m4a', 'poster.jpg', 'storyboard.vtt', 'sheet-0.jpg'];
  for (const file of files) assert.equal((await ask(`${folder}/${file}`)).statusCode, 401, file);
  assert.equal((await ask(`${folder}/source/0.m4s`)).statusCode, 404);
  assert.equal((await ask(`/hls/${asset.playbackId}/recording.json`)).statusCode, 401);
  const wrong = await token(newPlaybackId());
  assert.equal((await ask(`${folder}/index.m3u8?jwt=${wrong}`)).statusCode, 401);
  for (const subject of [asset.playbackId, stream.playbackId]) {
    const jwt = await token(subject);
    for (const file of files) {
      const { statusCode, headers } = await ask(`${folder}/${file}?jwt=${jwt}`);
      assert.equal(statusCode, 200, file);
      assert.equal(headers['cache-control'], 'private, no-store');
    }
    const text = async (url: string) => (await ask({ url, headers: { 'accept-encoding': 'identity' } })).body;
    const index = await text(`${folder}/index.m3u8?jwt=${jwt}`);
    const [, ticketed = ''] = /^(v\/[\w-]+\/source\.m3u8)$/m.exec(index) ?? [];
    assert.match(index, /URI="v\/[\w-]+\/audio\.m3u8"/);
    const media = await text(`${folder}/${ticketed}`);
    const [, segment = ''] = /^(\.\.\/\.\.\/s\/[\w-]+\/source\/0\.m4s)$/m.exec(media) ?? [];
    const address = new URL(segment, `http://host${folder}/${ticketed}`).pathname;
    const answer = await ask(address);
    assert.equal(answer.body, 'a segment');
    assert.equal(answer.headers['cache-control'], 'max-age=86400, immutable');
    assert.equal((await ask(address.replace('/0.m4s', '/1.m4s'))).statusCode, 404);
    const [, sheet = ''] = /^(v\/[\w-]+\/sheet-0\.jpg)#/m.exec(await text(`${folder}/storyboard.vtt?jwt=${jwt}`)) ?? [];
    assert.equal((await ask(`${folder}/${sheet}`)).body, 'sheet');
    assert.equal((await ask(`${folder}/${ticketed.replace('source.m3u8', 'source.mp4')}`)).statusCode, 200);
  }
});

test('a recording with a policy of its own is under that policy, and not under the policy of its stream', async (t) => {
  const { ask, folder } = await setUp(t, { policy: { type: 'jwt' }, asset: { playbackPolicy: { type: 'public' } } });
  assert.equal((await ask(`${folder}/index.m3u8`)).statusCode, 200);
  const closed = await setUp(t, { asset: { playbackPolicy: { type: 'jwt' } } });
  assert.equal((await closed.ask(`${closed.folder}/index.m3u8`)).statusCode, 401);
});

test('with DVR off, a running recording is only for its owner, and is for all afterwards; clips of it are for all', async (t) => {
  const status = async (options: SetUp) => {
    const { ask, folder, stream } = await setUp(t, { dvr: 'off', ...options });
    const urls = [`${folder}/index.m3u8`, `${folder}/source.mp4`, `${folder}/source/0.m4s`];
    const statuses = await Promise.all(urls.map(async (url) => (await ask(url)).statusCode));
    return [...statuses, (await ask(`/hls/${stream.playbackId}/recording.json`)).statusCode];
  };
  assert.deepEqual(await status({ isRunning: true }), [401, 401, 401, 204]);
  assert.deepEqual(await status({ isRunning: true, isOwner: true }), [200, 307, 200, 200]);
  const owned = await setUp(t, { dvr: 'off', isRunning: true, isOwner: true });
  const urls = ['index.m3u8', 'source.m3u8', 'source/0.m4s', 'poster.jpg', `source.mp4?to=${at(240)}`];
  for (const url of [
    ...urls.map((file) => `${owned.folder}/${file}`),
    `/hls/${owned.stream.playbackId}/recording.json`,
  ]) {
    assert.equal((await owned.ask(url)).headers['cache-control'], 'private, no-store', url);
  }
  // A video element cannot send headers, so the owner token is accepted in the URL of an MP4 and its playlist.
  const shown = await setUp(t, { dvr: 'off', isRunning: true });
  const tokenUntil = (expiresAt: number) =>
    new OwnerTokens(CLUSTER_SECRET)
      .issue(shown.asset.playbackId, { credential: { keyId: newApiKeyId() }, expiresAt: ms(expiresAt) })
      .reveal();
  for (const [file, token, answer] of [
    [`source.mp4?to=${at(240)}`, tokenUntil(Date.now() + 60_000), 200],
    ['source.m3u8?', tokenUntil(Date.now() + 60_000), 200],
    ['source.m3u8?', tokenUntil(Date.now() - 1), 401],
    ['source.m3u8?', `${tokenUntil(Date.now() + 60_000)}x`, 401],
  ] as const) {
    const { statusCode, headers } = await shown.ask(`${shown.folder}/${file}&jwt=${token}`);
    assert.equal(statusCode, answer, file);
    assert.ok(String(headers['cache-control']).includes('no-store'));
  }
  assert.equal(
    (await shown.ask(`/hls/${shown.stream.playbackId}/recording.json?jwt=${tokenUntil(1)}`)).statusCode,
    204,
  );
  const described = `/hls/${shown.stream.playbackId}/recording.json?jwt=${tokenUntil(Date.now() + 60_000)}`;
  assert.equal((await shown.ask(described)).statusCode, 200);
  assert.deepEqual(await status({}), [200, 200, 200, 200]);
  const clip = { kind: 'clip', path: newMediaPath(), fromMs: at(60), untilMs: at(90) } as const;
  assert.deepEqual(await status({ isRunning: true, asset: clip }), [200, 200, 200, 200]);
});

for (const policy of [undefined, { type: 'jwt' }] as const) {
  const what = policy === undefined ? 'public' : 'restricted';
  test(`with DVR off, an owner token opens the playlists of a running recording of a ${what} stream, which pass it on`, async (t) => {
    const { ask, asset, folder, end } = await setUp(t, { dvr: 'off', isRunning: true, ...(policy && { policy }) });
    const token = new OwnerTokens(CLUSTER_SECRET)
      .issue(asset.playbackId, { credential: { keyId: newApiKeyId() }, expiresAt: ms(Date.now() + 600_000) })
      .reveal();
    const get = async (url: string) => {
      const { statusCode, headers, body } = await ask({ url, headers: { 'accept-encoding': 'identity' } });
      assert.equal(statusCode, 200, url);
      assert.equal(headers['cache-control'], 'private, no-store', url);
      return body;
    };
    const from = (url: string, relative: string) => new URL(relative, `http://x${url}`).pathname;
    const named = /^v\/[\w-]+\/source\.m3u8$/m.exec(await get(`${folder}/index.m3u8?jwt=${token}`))![0];
    const playlist = from(`${folder}/index.m3u8`, named);
    const [segment] = /^\.\.\/\.\.\/s\/.*$/m.exec(await get(playlist))!;
    const media = from(playlist, segment);
    const { statusCode, body } = await ask(media);
    assert.deepEqual([statusCode, body], [200, 'a segment']);
    for (const refused of [media.replace('0.m4s', '7.m4s'), media.replace(/s\/[\w-]+/, 's/0123456789abcdef')]) {
      assert.equal((await ask(refused)).statusCode, 404, refused);
    }
    assert.equal((await ask(`${folder}/source/0.m4s`)).statusCode, policy === undefined ? 401 : 404);
    end();
    await waitFor(async () => (await ask(`${folder}/source.m3u8`)).statusCode === (policy === undefined ? 200 : 401), {
      what: 'the recording to have ended',
    });
    for (const kept of [playlist, media]) assert.equal((await ask(kept)).statusCode, 200, kept);
  });
}

test('players learn from a playback id what is recorded by now: of the stream, or of the recording itself', async (t) => {
  // The store does not know yet that anything is recorded.
  const stored = { durationS: 0, fromMs: undefined, untilMs: undefined, tracks: [] };
  const { ask, stream, asset } = await setUp(t, { isRunning: true, asset: stored });
  const info = {
    folder: `../../recordings/${asset.path}/`,
    name: 'a recording',
    running: true,
    from: at(0),
    to: at(240),
    duration: 240,
    downloads: [{ file: 'source.mp4', width: 640, height: 360 }, { file: 'audio.m4a' }],
  };
  const ofStream = await ask(`/hls/${stream.playbackId}/recording.json`);
  assert.deepEqual(ofStream.json(), { of: 'stream', ...info });
  assert.equal(ofStream.headers['cache-control'], 'max-age=0, s-maxage=2');
  assert.deepEqual((await ask(`/hls/${asset.playbackId}/recording.json`)).json(), { of: 'asset', ...info });
  assert.deepEqual((await ask(`/hls/${asset.sessionId}/recording.json`)).json(), { of: 'asset', ...info });
  assert.equal((await ask(`/hls/${newPlaybackId()}/recording.json`)).statusCode, 204);
});

test('players learn the whole length of a recording that has just ended, before the store knows it', async (t) => {
  // A page that takes it for shorter begins before the moment that its address names.
  const stored = { phase: 'storing', durationS: 6.4, untilMs: at(6.4) } as const;
  const { ask, asset } = await setUp(t, { asset: stored });
  const { running, from, to, duration } = (await ask(`/hls/${asset.sessionId}/recording.json`)).json() as Record<
    string,
    unknown
  >;
  assert.deepEqual({ running, from, to, duration }, { running: false, from: at(0), to: at(240), duration: 240 });
});

test('players learn the length that the store knows of a recording whose node is gone, without looking for its files', async (t) => {
  const stored = { phase: 'storing', nodeId: newNodeId(), durationS: 6.4, untilMs: at(6.4) } as const;
  const { ask, asset } = await setUp(t, { asset: stored });
  const { duration } = (await ask(`/hls/${asset.sessionId}/recording.json`)).json() as Record<string, unknown>;
  assert.equal(duration, 6.4);
});

test('viewers who seek back count as viewers of the stream while it is recorded, and of the recording afterwards', async (t) => {
  const running = await setUp(t, { isRunning: true });
  await running.ask(`${running.folder}/index.m3u8`);
  assert.deepEqual(running.watched, [running.stream.playbackId]);
  const ended = await setUp(t);
  await ended.ask(`${ended.folder}/source.m3u8`);
  await ended.ask(`${ended.folder}/poster.jpg`);
  assert.deepEqual(ended.watched, [ended.asset.playbackId]);
});

/** Waits until the usage has these bytes. They may be noted only after they have arrived. */
const delivered = (usage: { readonly bytes: number }, bytes: number) =>
  waitFor(() => usage.bytes === bytes, { what: `${bytes} bytes` });

test('sent media of replays and MP4s counts in the usage of the stream, and the video of replays counts as watched', async (t) => {
  const { ask, folder, usage } = await setUp(t);
  for (const url of ['index.m3u8', 'source.m3u8', 'poster.jpg', 'storyboard.vtt', 'source/9.m4s']) {
    await ask(`${folder}/${url}`);
  }
  await ask({ method: 'HEAD', url: `${folder}/source.mp4` });
  await ask({ url: `${folder}/source/0.m4s`, headers: { 'if-none-match': '"0.m4s-1"' } });
  assert.deepEqual({ ...usage, views: 0 }, { views: 0, bytes: 0, watchedMs: 0 });
  for (const [url, range, bytes, watchedMs] of [
    ['source/0.m4s', undefined, 9, 1800],
    ['source/7.m4s', 'bytes=0-2', 3, 600],
    ['audio/0.m4s', undefined, 9, 0],
    ['source.mp4', 'bytes=-500', 500, 0],
    ['source.mp4', undefined, MP4.length, 0],
  ] as const) {
    const before = { ...usage };
    await ask({ url: `${folder}/${url}`, headers: range === undefined ? {} : { range } });
    await delivered(usage, before.bytes + bytes);
    assert.equal(Math.round(usage.watchedMs - before.watchedMs), watchedMs, url);
  }
});

test('while a recording runs, its media counts in bytes only, because its viewers count as present viewers of the stream', async (t) => {
  const { ask, folder, usage } = await setUp(t, { isRunning: true });
  for (const url of ['index.m3u8', 'source.m3u8', 'source/0.m4s']) await ask(`${folder}/${url}`);
  await delivered(usage, 9);
  assert.deepEqual(usage, { views: 2, bytes: 9, watchedMs: 0 }, 'the viewer is the same one for `live`');
});

test('a replay is a view when its multivariant playlist is requested, and no view when another playlist is', async (t) => {
  const { ask, folder, usage, watched, asset } = await setUp(t);
  for (const file of ['index.m3u8', 'source.m3u8', 'source.m3u8']) await ask(`${folder}/${file}`);
  assert.equal(usage.views, 1);
  assert.deepEqual(new Set(watched), new Set([asset.playbackId]));
});

test('a replay is no view while it cannot be read, here or at another node, and is a view when it can be read again', async (t) => {
  const there = await setUp(t);
  const here = await setUp(t, { asset: there.asset, elsewhere: `http://127.0.0.1:${there.port}` });
  const { open } = there.library;
  for (const node of [there, here]) {
    const index = { url: `${node.folder}/index.m3u8`, localAddress: node === here ? '127.0.0.2' : '127.0.0.3' };
    for (const [answered, status] of [
      [async () => undefined, 404],
      [() => Promise.reject(new MillraceError('recording_unavailable', 'The bucket is away.')), 503],
    ] as const) {
      there.library.open = answered;
      assert.equal((await node.ask(index)).statusCode, status);
      assert.equal(node.usage.views, 0);
    }
    there.library.open = open;
    assert.equal((await node.ask(index)).statusCode, 200);
    await waitFor(() => node.usage.views === 1, { what: 'the view' });
    there.usage.views = 0;
  }
  const nowhere = await setUp(t, { asset: there.asset, elsewhere: 'http://127.0.0.1:1' });
  assert.equal((await nowhere.ask(`${nowhere.folder}/index.m3u8`)).statusCode, 503);
  assert.equal(nowhere.usage.views, 0);
});

test('of a download that breaks off, the bytes that were sent count', async (t) => {
  const mp4 = randomBytes(32 * 1024 * 1024);
  const { port, folder, read, usage } = await setUp(t, { mp4 });
  const stalled = await open(t, port, `${folder}/source.mp4`);
  for (let quiet = 0, before = -1; quiet < 100; quiet = before === read.bytes ? quiet + 1 : 0) {
    before = read.bytes;
    await turn();
  }
  stalled.destroy();
  assert.ok(
    read.bytes < mp4.length && usage.bytes > 0 && usage.bytes <= read.bytes,
    `${usage.bytes} of ${read.bytes} bytes`,
  );
});

test('media that one node passes on for another counts once, at the node that the viewer asks', async (t) => {
  const there = await setUp(t);
  const here = await setUp(t, { asset: there.asset, elsewhere: `http://127.0.0.1:${there.port}` });
  for (const url of ['index.m3u8', 'source.m3u8', 'sheet-0.jpg', 'source/9.m4s', 'source.mp4', 'source/0.m4s']) {
    const { headers } = await here.ask(`${here.folder}/${url}`);
    assert.equal(headers['x-millrace-ms-per-byte'], undefined);
  }
  await delivered(here.usage, MP4.length + 9);
  assert.deepEqual([here.usage.views, Math.round(here.usage.watchedMs)], [1, 1800]);
  assert.deepEqual(there.usage, { views: 0, bytes: 0, watchedMs: 0 });
  assert.deepEqual(there.watched, Array(2).fill(there.asset.playbackId), 'it knows of the viewer all the same');
});

/** Requests over a real connection, and pauses before the body is read. */
async function open(t: TestContext, port: number, path: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = httpRequest({ port, path, agent: false }, resolve).on('error', reject);
  request.end();
  t.after(() => request.destroy());
  return await promise;
}

test('a file is read only as fast as its viewer takes it, and no further once the viewer has left', async (t) => {
  const mp4 = randomBytes(64 * 1024 * 1024);
  const { port, folder, read } = await setUp(t, { mp4 });
  const stalled = await open(t, port, `${folder}/source.mp4`);
  // Reading has stopped once nothing more was read for a hundred turns of the event loop.
  for (let quiet = 0, before = -1; quiet < 100; quiet = before === read.bytes ? quiet + 1 : 0) {
    before = read.bytes;
    await turn();
  }
  assert.ok(read.bytes < mp4.length / 2, `${read.bytes} bytes were read ahead`);
  stalled.destroy();
  const whole = createHash('sha256');
  for await (const piece of await open(t, port, `${folder}/source.mp4`)) whole.update(piece as Buffer);
  assert.equal(whole.digest('hex'), createHash('sha256').update(mp4).digest('hex'));
});

for (const whose of ['stream', 'user'] as const) {
  test(`while the ${whose} is suspended, its recordings cannot be watched, and an MP4 that is being sent is cut off`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { ask, port, asset, stream, owner, folder } = await setUp(t, { mp4: randomBytes(30_000_000) });
    const suspended = whose === 'stream' ? stream : owner;
    const files = ['index.m3u8', 'source.m3u8', 'source/0.m4s', 'source.mp4', 'poster.jpg'];
    const info = `/hls/${asset.playbackId}/recording.json`;
    const arrive = async (status: number, infoStatus: number) => {
      for (const file of files) {
        await waitFor(async () => (await ask({ url: `${folder}/${file}`, method: 'HEAD' })).statusCode === status, {
          what: `${file} to be answered with ${status}`,
        });
      }
      assert.equal((await ask(info)).statusCode, infoStatus);
    };
    await arrive(200, 200);
    const download = await open(t, port, `${folder}/source.mp4`);
    Object.assign(suspended, { suspended: true });
    await arrive(404, 204);
    t.mock.timers.tick(5000);
    await assert.rejects(download.toArray(), /aborted/);
    Object.assign(suspended, { suspended: false });
    await arrive(200, 200);
  });
}

test('an MP4 that loses the memory of its head is cut off, although its viewer reads nothing', async (t) => {
  const { port, folder, lost } = await setUp(t, { mp4: randomBytes(64 * 1024 * 1024) });
  const answer = await open(t, port, `${folder}/source.mp4`);
  lost.abort();
  await assert.rejects(answer.toArray(), /aborted/);
});

test('an answer whose bytes cannot be read is an error at its start, and a cut connection in its middle', async (t) => {
  const { port, folder } = await setUp(t);
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    if (hasBegun !== undefined) {
      yield Buffer.alloc(50_000);
      await hasBegun.promise;
    }
    throw new MillraceError('store_unavailable', 'The object store does not answer.');
  };
  let hasBegun: PromiseWithResolvers<void> | undefined;
  t.mock.method(MemorySource.prototype, 'read', failing);
  assert.equal((await open(t, port, `${folder}/source.mp4`)).statusCode, 503);
  hasBegun = Promise.withResolvers();
  const answer = await open(t, port, `${folder}/source.mp4`);
  assert.equal(answer.statusCode, 200);
  hasBegun.resolve();
  await assert.rejects(answer.toArray(), /aborted/);
});

test('playlists name the CDN only for whole recordings in the bucket that everybody may watch', async (t) => {
  const cases: readonly [SetUp, boolean][] = [
    [{ asset: { isStored: true } }, true],
    [{ asset: { isStored: false } }, false],
    [{ asset: { isStored: true, kind: 'clip' } }, false],
    [{ asset: { isStored: true }, policy: { type: 'jwt' } }, false],
  ];
  for (const [options, isNamed] of cases) {
    const { ask, asset, folder, mediaUrls, token } = await setUp(t, options);
    const { statusCode } = await ask(`${folder}/source.m3u8?jwt=${await token(asset.playbackId)}`);
    assert.equal(statusCode, 200);
    assert.deepEqual(mediaUrls, isNamed ? [`https://cdn.example.com/kept/${asset.path}`] : []);
  }
});

test('a recording on the disk of another node is asked of that node, which checks the viewer and counts it', async (t) => {
  const there = await setUp(t, { isRunning: true, policy: { type: 'jwt' } });
  const url = `http://127.0.0.1:${there.port}`;
  const here = await setUp(t, { policy: { type: 'jwt' }, asset: there.asset, elsewhere: url, signing: there.signing });
  const jwt = await there.token(there.asset.playbackId);
  assert.equal((await here.ask(`${here.folder}/index.m3u8`)).statusCode, 401);
  assert.deepEqual(there.calls, []);
  const index = await here.ask({ url: `${here.folder}/index.m3u8?jwt=${jwt}`, headers: { 'accept-encoding': 'gzip' } });
  assert.equal(index.headers['content-encoding'], 'gzip');
  const [ticketed] = /^v\/[\w-]+\/source\.m3u8$/m.exec(gunzipSync(index.rawPayload).toString())!;
  const media = await here.ask(`${here.folder}/${ticketed}`);
  const [segment] = /^\.\.\/\.\.\/s\/.*$/m.exec(media.body)!;
  assert.equal((await here.ask(new URL(segment, `http://x${here.folder}/${ticketed}`).pathname)).body, 'a segment');
  const part = await here.ask({
    url: `${here.folder}/source.mp4?jwt=${jwt}&to=${at(240)}`,
    headers: { range: 'bytes=-500', cookie: 'secret=1', 'accept-encoding': 'identity' },
  });
  assert.deepEqual([part.statusCode, part.headers['content-range']], [206, 'bytes 299500-299999/300000']);
  assert.ok(part.rawPayload.equals(MP4.subarray(-500)));
  const redirected = await here.ask({ method: 'HEAD', url: `${here.folder}/source.mp4?jwt=${jwt}` });
  assert.equal(redirected.statusCode, 307);
  assert.match(redirected.headers.location!, /^source\.mp4\?jwt=/);
  assert.equal((await here.ask(`${here.folder}/sheet-9.jpg?jwt=${jwt}`)).statusCode, 404);
  assert.ok(there.watched.length >= 2, 'both playlists were counted there');
});

test('an MP4 of another node is charged there to the network of its viewer, which the viewer cannot choose', async (t) => {
  const there = await setUp(t);
  const here = await setUp(t, { asset: there.asset, elsewhere: `http://127.0.0.1:${there.port}` });
  const headers = { 'x-millrace-viewer-address': '203.0.113.9' };
  for (const [node, localAddress] of [
    [here, '127.0.0.9'],
    [here, '127.0.0.1'],
    [there, '127.0.0.7'],
  ] as const) {
    const { statusCode } = await node.ask({ url: `${node.folder}/source.mp4`, localAddress, headers });
    assert.equal(statusCode, 200);
  }
  assert.deepEqual(there.movieAddresses, ['127.0.0.9', '127.0.0.1', '127.0.0.7']);
});

test('access keys that the node of a recording refuses count against the networks of their viewers, not against other nodes', async (t) => {
  const policy = { type: 'webhook', webhookId: 'w' } as const;
  const there = await setUp(t, { policy, askReceiver: async ({ accessKey }) => accessKey === 'paid' });
  const url = `http://127.0.0.1:${there.port}`;
  const here = await setUp(t, { policy, asset: there.asset, elsewhere: url, askReceiver: async () => true });
  const ask = async (accessKey: string, localAddress: string) =>
    (await here.ask({ url: `${here.folder}/index.m3u8?accessKey=${accessKey}`, localAddress })).statusCode;
  let status: number | undefined = 401;
  for (let refused = 0; status === 401 && refused < 1000; refused += 1) status = await ask(`${refused}`, '127.0.0.9');
  assert.equal(status, 429);
  assert.equal(await ask('paid', '127.0.0.8'), 200);
});

test('pages of the asked node may play a recording of another node over plain HTTP, whatever other pages may', async (t) => {
  const policy = { type: 'public', allowedOrigins: ['https://shop.example'] } as const;
  const there = await setUp(t, { policy });
  const here = await setUp(t, { policy, asset: there.asset, elsewhere: `http://127.0.0.1:${there.port}` });
  const host = 'live.example.com:8080';
  for (const [headers, answer] of [
    [{ referer: `http://${host}/dashboard/streams` }, 200],
    [{ referer: 'https://shop.example/', origin: 'https://shop.example' }, 200],
    [{}, 200],
    [{ referer: 'http://attacker.example/' }, 403],
    [{ referer: 'not a URL' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: 'http://attacker.example' }, 403],
  ] as const) {
    const { statusCode } = await here.ask({ url: `${here.folder}/index.m3u8`, headers: { host, ...headers } });
    assert.equal(statusCode, answer, JSON.stringify(headers));
  }
});

test('of many pictures of another node, that node is asked for no more than it lets one address wait for, and refuses none', async (t) => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const node = fastify();
  node.get('/*', async ({ url }, reply) => {
    if (url.includes('index.m3u8')) return await reply.send('a playlist');
    asked.push(url);
    await new Promise<void>((resolve) => void answers.push(resolve));
    return await reply.type('image/jpeg').send('a picture');
  });
  t.after(() => node.close());
  await node.listen({ port: 0, host: '127.0.0.1' });
  const { port } = node.server.address() as AddressInfo;
  const { ask, folder } = await setUp(t, { elsewhere: `http://127.0.0.1:${port}` });
  const viewers = ['127.0.0.1', '127.0.0.9'];
  const posters = viewers.flatMap((localAddress) =>
    Array.from({ length: 15 }, (_, second) => ask({ url: `${folder}/poster.jpg?at=${at(second)}`, localAddress })),
  );
  await waitFor(() => asked.length === 20, { what: 'twenty pictures to be asked for' });
  assert.equal((await ask(`${folder}/index.m3u8`)).body, 'a playlist', 'which waits for no turn');
  assert.equal(asked.length, 20);
  for (let answered = 1; answered <= 30; answered += 1) {
    answers.shift()!();
    await waitFor(() => asked.length === Math.min(30, 20 + answered), { what: 'the next picture to be asked for' });
  }
  assert.ok((await Promise.all(posters)).every(({ statusCode }) => statusCode === 200));
});

test('a node that does not answer is a fault of the service, and no request goes on from a node that was asked by another', async (t) => {
  const gone = await setUp(t, { elsewhere: 'http://127.0.0.1:9' });
  const { statusCode, json } = await gone.ask(`${gone.folder}/index.m3u8`);
  assert.deepEqual([statusCode, json()], [503, { code: 'node_unreachable' }]);
  const there = await setUp(t, { elsewhere: 'http://127.0.0.1:9' });
  const here = await setUp(t, { asset: there.asset, elsewhere: `http://127.0.0.1:${there.port}` });
  assert.equal((await here.ask(`${here.folder}/index.m3u8`)).statusCode, 404);
});

test('a node learns from the one that records how much there is by now, and nobody else does', async (t) => {
  const there = await setUp(t, { isRunning: true });
  const { asset } = there;
  const url = `http://127.0.0.1:${there.port}`;
  const nodeOf = (nodeUrl: string) => ({ byPath: async () => ({ asset, node: { id: asset.nodeId, url: nodeUrl } }) });
  const elsewhere = (nodeUrl: string, nodeId = newNodeId()) => {
    const asking = new ExtentElsewhere(nodeOf(nodeUrl), nodeId, CLUSTER_SECRET);
    t.after(() => asking[Symbol.asyncDispose]());
    return asking;
  };
  const other = elsewhere(`${url}/`);
  // The other node has only a few seconds to answer.
  const { durationS, tracks } = await waitFor(() => other.of(asset), { what: 'the answer of the other node' });
  assert.deepEqual([durationS, tracks.length], [240, 2]);
  assert.equal(await elsewhere('http://127.0.0.1:9/').of(asset), undefined, 'the node is gone');
  assert.equal(await elsewhere(`${url}/`).of({ ...asset, phase: 'ready' }), undefined);
  assert.equal(await elsewhere(`${url}/`, asset.nodeId).of(asset), undefined);
  assert.equal((await there.ask(`${there.folder}/extent.json`)).statusCode, 404);
});
