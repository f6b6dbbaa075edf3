/**
 * Checks each kind of answer of the origin against the delivery rules: headers, errors, and which requests are held for how long.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { StreamObject } from '../support/api-client.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { type MediaPlaylist, readMediaPlaylist } from '../support/hls-playlist.ts';
import { startPublisher } from '../support/publisher.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { CHEAP, type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Answer, get, mediaPlaylistUris, nextDirectives } from './viewer.ts';

const TARGET_DURATION_S = 2;
const HALF = `max-age=0, s-maxage=${TARGET_DURATION_S / 2}`;
const SIX = `max-age=0, s-maxage=${6 * TARGET_DURATION_S}`;
const MEDIA = `max-age=${6 * TARGET_DURATION_S}, immutable`;
const NONE = 'no-store';

const parts = new AsyncDisposableStack();
let server: ServerProcess;
let indexUrl: string;
/** The URL of the source video's media playlist. */
let playlistUrl: string;

before(async () => {
  const settings = {
    ...CHEAP,
    MILLRACE_SEGMENT_TARGET_DURATION_S: String(TARGET_DURATION_S),
    MILLRACE_PLAYLIST_WINDOW_S: '12',
  };
  server = parts.use(await startServerProcess({ settings }));
  const stream = await server.api.createStream();
  parts.use(await startPublisher({ url: server.rtmpUrl(stream.streamKey) }));
  indexUrl = server.playlistUrl(stream.playbackId);
  const index = await waitForIndex(stream);
  playlistUrl = new URL(mediaPlaylistUris(index.body.toString()).find((uri) => uri.includes('source'))!, indexUrl).href;
});
after(() => parts.disposeAsync());

const waitForIndex = (stream: StreamObject): Promise<Answer> =>
  waitFor(
    async () => {
      const answer = await get(server.playlistUrl(stream.playbackId));
      return answer.status === 200 && answer;
    },
    { what: 'the first playlist' },
  );

async function playlist(): Promise<MediaPlaylist> {
  return readMediaPlaylist((await get(playlistUrl)).body.toString());
}

/** The playlist when it has at least one complete segment. */
const grownPlaylist = (): Promise<MediaPlaylist> =>
  waitFor(
    async () => {
      const now = await playlist();
      return now.segments.filter(({ uri }) => uri !== undefined).length > 0 && now;
    },
    { what: 'a complete segment' },
  );

/** The number of the segment that is being made. */
function growingSegment({ segments }: MediaPlaylist): number {
  const last = segments.at(-1)!;
  return last.uri === undefined ? last.msn : last.msn + 1;
}

const hintedPart = ({ hints }: MediaPlaylist): string => hints.find((hint) => hint.get('TYPE') === 'PART')!.get('URI')!;

/** Makes a request that depends on the live edge, and repeats it when the edge has moved in the meantime. */
function whileSteady<Edge>(edgeOf: (of: MediaPlaylist) => Edge, ask: (edge: Edge) => Promise<Answer>): Promise<Answer> {
  const asked = async () => {
    const edge = edgeOf(await playlist());
    const answer = await ask(edge);
    return edgeOf(await playlist()) === edge && answer;
  };
  return waitFor(asked, { what: 'an answer while the playlist stays as it is' });
}

/**
 * Makes a request that depends on a playlist with a complete segment. It is repeated with a newer playlist when the playlist was too old by
 * the time of the answer: playlists list parts only for a while, and the answer to directives of an old playlist may not be stored.
 */
function whileNew<Answered>(ask: (now: MediaPlaylist) => Promise<Answered>): Promise<Answered> {
  const asked = async () => {
    const now = await grownPlaylist();
    const answer = await ask(now);
    return growingSegment(await playlist()) < growingSegment(now) + 2 && { answer };
  };
  return waitFor(asked, { what: 'an answer while the playlist is new' }).then(({ answer }) => answer);
}

const lastComplete = ({ segments }: MediaPlaylist) => segments.findLast(({ uri }) => uri !== undefined)!;

const header = ({ headers }: Answer, name: string): string | null => headers.get(name);

test('every kind of answer says how long caches may keep it, and may be read by players of any site', async () => {
  const media = (uri: string) => new URL(uri, playlistUrl).href;
  const kinds: readonly [what: string, url: string | ((now: MediaPlaylist) => string), number, cacheControl: string][] =
    [
      ['the multivariant playlist', indexUrl, 200, HALF],
      ['a playlist as it is now', playlistUrl, 200, HALF],
      ['a playlist that was waited for', (now) => `${playlistUrl}?${nextDirectives(now)}`, 200, SIX],
      ['a delta update', (now) => `${playlistUrl}?${nextDirectives(now)}&_HLS_skip=YES`, 200, SIX],
      ['a segment', (now) => media(lastComplete(now).uri!), 200, MEDIA],
      ['a part', (now) => media(lastComplete(now).parts[0]!.uri), 200, MEDIA],
      ['an init segment', (now) => media(lastComplete(now).map!), 200, MEDIA],
      ['a refused directive', (now) => `${playlistUrl}?_HLS_msn=${lastComplete(now).msn + 10}`, 400, NONE],
      ['a part without its segment', `${playlistUrl}?_HLS_part=1`, 400, NONE],
      ['a playlist that is none', playlistUrl.replace('source', 'nothing'), 404, NONE],
      ['a segment that is none', media('source/999999.m4s'), 404, NONE],
      ['a stream that is none', server.playlistUrl('0000000000000000'), 404, NONE],
    ];
  for (const [what, url, status, cacheControl] of kinds) {
    const answer = await whileNew((now) => {
      const headers = { origin: 'https://elsewhere.example' };
      return get(typeof url === 'string' ? url : url(now), { headers });
    });
    const seen = { status: answer.status, cacheControl: header(answer, 'cache-control') };
    assert.deepEqual(seen, { status, cacheControl }, what);
    assert.equal(header(answer, 'access-control-allow-origin'), '*', what);
    assert.equal(header(answer, 'cross-origin-resource-policy'), 'cross-origin', what);
    assert.equal(header(answer, 'age'), null, what);
    assert.equal(header(answer, 'set-cookie'), null, what);
  }
  const preflight = await whileNew((now) =>
    get(media(lastComplete(now).uri!), {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
    }),
  );
  assert.equal(preflight.status, 204);
  assert.equal(header(preflight, 'access-control-allow-origin'), '*');
});

test('playlists are compressed for clients that accept gzip, and have the right content type', async () => {
  for (const url of [indexUrl, playlistUrl]) {
    const zipped = await get(url, { headers: { 'accept-encoding': 'gzip' } });
    const plain = await get(url, { headers: { 'accept-encoding': 'identity' } });
    assert.equal(header(zipped, 'content-encoding'), 'gzip');
    assert.equal(header(plain, 'content-encoding'), null);
    assert.match(plain.body.toString(), /^#EXTM3U\n/);
    assert.match(zipped.body.toString(), /^#EXTM3U\n/, 'what it holds when it is unpacked');
    for (const answer of [zipped, plain]) {
      assert.equal(header(answer, 'content-type'), 'application/vnd.apple.mpegurl');
      assert.match(header(answer, 'vary') ?? '', /accept-encoding/i);
    }
    assert.equal(Number(header(plain, 'content-length')), plain.body.length);
  }
});

test('HEAD answers as GET does, without the body', async () => {
  const { segments } = await grownPlaylist();
  const segment = new URL(segments.find(({ uri }) => uri !== undefined)!.uri!, playlistUrl).href;
  for (const url of [indexUrl, segment]) {
    const plain = { headers: { 'accept-encoding': 'identity' } };
    const [asked, had] = [await get(url, { method: 'HEAD', ...plain }), await get(url, plain)];
    assert.equal(asked.status, 200);
    assert.equal(asked.body.length, 0);
    for (const name of ['content-type', 'content-length', 'cache-control', 'etag']) {
      assert.equal(header(asked, name), header(had, name), name);
    }
  }
});

test('media can be requested in ranges, and is not sent again when the viewer has it', async () => {
  const { segments } = await grownPlaylist();
  const url = new URL(segments.find(({ uri }) => uri !== undefined)!.uri!, playlistUrl).href;
  const whole = await get(url);
  assert.equal(header(whole, 'accept-ranges'), 'bytes');
  const middle = await get(url, { headers: { range: 'bytes=100-299' } });
  assert.equal(middle.status, 206);
  assert.equal(header(middle, 'content-range'), `bytes 100-299/${whole.body.length}`);
  assert.ok(middle.body.equals(whole.body.subarray(100, 300)));
  const tail = await get(url, { headers: { range: 'bytes=-50' } });
  assert.ok(tail.body.equals(whole.body.subarray(-50)));
  const beyond = await get(url, { headers: { range: `bytes=${whole.body.length}-` } });
  assert.equal(beyond.status, 416);
  assert.equal(header(beyond, 'content-range'), `bytes */${whole.body.length}`);
  const again = await get(url, { headers: { 'if-none-match': header(whole, 'etag')! } });
  assert.equal(again.status, 304);
  assert.equal(again.body.length, 0);
});

test('directives are followed: existing media is answered at once, the next part is held, and too far ahead is refused', async () => {
  const after = async (directives: string) => {
    const answer = await get(`${playlistUrl}?${directives}`);
    assert.equal(answer.status, 200, directives);
    return readMediaPlaylist(answer.body.toString());
  };
  const listed = (of: MediaPlaylist, msn: number) => of.segments.find((each) => each.msn === msn);

  const now = await grownPlaylist();
  const past = await after('_HLS_msn=0&_HLS_part=0');
  assert.equal(past.skipped, 0, 'a past segment gives the whole playlist');
  assert.ok(past.segments.at(-1)!.msn >= now.segments.at(-1)!.msn, 'a past segment gives the newest playlist');
  const [segment, { msn }] = await whileNew(async (newest) => {
    const last = lastComplete(newest);
    return [await after(`_HLS_msn=${last.msn + 1}`), last] as const;
  });
  assert.ok(listed(segment, msn + 1)?.uri !== undefined, 'without a part, the whole segment is waited for');
  const [beyondEnd, before] = await whileNew(async (newest) => {
    const last = lastComplete(newest);
    return [await after(`_HLS_msn=${last.msn}&_HLS_part=${last.parts.length + 3}`), last] as const;
  });
  assert.ok(
    (listed(beyondEnd, before.msn + 1)?.parts.length ?? 0) > 0,
    'a part after the end is the next segment’s first',
  );

  for (const ahead of [(growing: number) => growing + 3, (growing: number) => `${growing}&_HLS_part=40`]) {
    const { status } = await whileSteady(growingSegment, (growing) => get(`${playlistUrl}?_HLS_msn=${ahead(growing)}`));
    assert.equal(status, 400, String(ahead));
  }
  for (const directives of ['_HLS_part=0', '_HLS_msn=x', '_HLS_msn=1&_HLS_msn=2', '_HLS_msn=-1']) {
    assert.equal((await get(`${playlistUrl}?${directives}`)).status, 400, directives);
  }
  for (const directives of ['_HLS_future=1', 'token=a%20b', '_HLS_skip=NO', '_HLS_skip=v2']) {
    assert.equal((await get(`${playlistUrl}?${directives}`)).status, 200, directives);
  }
});

test('a hinted part is held until it is complete, and is then the one in the playlist', async () => {
  const [hinted, part, next] = await whileNew(async (now) => {
    const uri = hintedPart(now);
    const urls = [new URL(uri, playlistUrl).href, `${playlistUrl}?${nextDirectives(now)}`] as const;
    const [ofPart, ofNext] = await Promise.all([get(urls[0]), get(urls[1])]);
    return [uri, ofPart, ofNext] as const;
  });
  assert.equal(part.status, 200);
  assert.equal(Number(header(part, 'content-length')), part.body.length);
  const named = readMediaPlaylist(next.body.toString()).segments.flatMap((segment) => segment.parts);
  assert.ok(named.some(({ uri }) => uri === hinted));
  const unhinted = await whileSteady(hintedPart, (uri) => {
    const later = uri.replace(/\.(\d+)\.m4s/, (_, index: string) => `.${Number(index) + 2}.m4s`);
    return get(new URL(later, playlistUrl).href);
  });
  assert.equal(unhinted.status, 404);
});

test('unknown names are answered 404, whatever they look like', async () => {
  const base = playlistUrl.slice(0, playlistUrl.lastIndexOf('/'));
  const names = [
    '..%2f..%2f..%2fetc%2fpasswd',
    '__proto__',
    'constructor',
    'source/..%2finit-0.mp4',
    '%00',
    'a'.repeat(90),
  ];
  for (const name of [...names.map((each) => `${base}/${each}`), `${base}/source/__proto__`, `${base}/source/`]) {
    assert.equal((await get(name)).status, 404, name);
  }
});

test('while the publisher is connected and silent, requests are held and then answered with media that fills the time', async () => {
  const stream = await server.api.createStream();
  await using client = await RtmpClient.publish(server.rtmpPort, stream.streamKey!);
  client.tags(fixtureTags());
  const index = await waitForIndex(stream);
  for (const uri of mediaPlaylistUris(index.body.toString())) {
    const url = new URL(uri, index.url).href;
    const now = readMediaPlaylist((await get(`${url}?_HLS_msn=0&_HLS_part=0`)).body.toString());
    const hint = now.hints.at(-1)!.get('URI')!;
    const [next, part] = await Promise.all([get(`${url}?${nextDirectives(now)}`), get(new URL(hint, url).href)]);
    assert.deepEqual([next.status, part.status], [200, 200]);
    const { segments } = readMediaPlaylist(next.body.toString());
    assert.ok(segments.some(({ parts: listed, gap }) => !gap && listed.some((each) => each.uri === hint)));
  }
});
