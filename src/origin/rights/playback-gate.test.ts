import assert from 'node:assert/strict';
import { createHmac, createSecretKey } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { importPKCS8, SignJWT, UnsecuredJWT } from 'jose';
import { MillraceError } from '#domain/errors.ts';
import {
  type MediaPath,
  newApiKeyId,
  newBrowserSessionId,
  newMediaPath,
  newUserId,
  type PlaybackId,
} from '#domain/ids.ts';
import { OwnerTokens } from '#domain/owner-token.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { Secret } from '#domain/secret.ts';
import { pemOf, type SigningKey } from '#domain/signing-key.ts';
import type { Stream } from '#domain/stream.ts';
import type { User } from '#domain/user.ts';
import type { Presentation } from '#hls/hls.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Audience, LiveDirectory } from '#live/live.ts';
import { originPlugin } from '#origin/origin.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { signToken, someSigningPair } from '#test/support/playback-rights.ts';
import { someStream, someUser } from '#test/support/sample-records.ts';
import type { AskReceiver } from './gate-calls.ts';
import type { RefusalReport } from './refusals.ts';

const mediaPath = newMediaPath();
const MULTIVARIANT = `#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="main",URI="${mediaPath}/audio.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=1000000,AUDIO="audio"
${mediaPath}/source.m3u8
`;
const MEDIA = `#EXTM3U
#EXT-X-MAP:URI="source/init-0.mp4"
#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z
#EXT-X-PART:DURATION=0.33,URI="source/12.0.m4s",INDEPENDENT=YES
#EXTINF:2.00000,
source/12.m4s
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="source/13.0.m4s"
#EXT-X-RENDITION-REPORT:URI="audio.m3u8",LAST-MSN=12,LAST-PART=0
`;

const SECRET = new Secret('shared by all nodes');
const OWNER_TOKENS = new OwnerTokens(SECRET);

/** One stream on one node, behind the real routes. */
async function setUp(
  t: TestContext,
  policy?: PlaybackPolicy,
  askReceiver: AskReceiver = () => Promise.reject(new Error('no call was expected')),
) {
  const time = { now: Date.now(), monotonic: 0 };
  const clock: Clock = { now: () => ms(time.now), monotonic: () => ms(time.monotonic) };
  const userId = newUserId();
  let stream: Stream = someStream(userId, { playbackPolicy: policy });
  let keys: readonly SigningKey[] = [];
  /** The users of API keys and browser sessions, by the id of these. */
  const holders = new Map<string, User>();
  const { playbackId } = stream;
  const presentation = {
    multivariant: async () => ({
      type: 'playlist',
      playlist: new PlaylistText(MULTIVARIANT, false),
      validity: 'current',
    }),
    playlist: async () => ({ type: 'playlist', playlist: new PlaylistText(MEDIA, false), validity: 'final' }),
    media: async () => ({
      type: 'media',
      resource: { pieces: [Buffer.from('media')], sizeBytes: 5, contentType: 'video/mp4' },
    }),
  } as unknown as Presentation;
  const watchable = { mediaPath, phase: 'live', presentation, thumbnail: Buffer.from('jpeg') } as const;
  const live: LiveDirectory & Audience = {
    status: () => undefined,
    sessionStatus: () => undefined,
    watch: (id: PlaybackId) => (id === playbackId ? watchable : undefined),
    watchPath: (id: PlaybackId, path: MediaPath) => (id === playbackId && path === mediaPath ? watchable : undefined),
    watchedStream: () => stream,
    viewers: () => 0,
    usageOf: () => assert.fail('only the API calls this'),
    watched: () => true,
    samples: () => undefined,
    delivered: () => {},
    watchedElsewhere: () => undefined,
    takeUnreported: () => [],
    reported: () => undefined,
  };
  const reports: RefusalReport[] = [];
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true }, trustProxy: true });
  app.setErrorHandler((error, _request, reply) => {
    assert.ok(error instanceof MillraceError, String(error));
    return reply.code(error.status).send({ code: error.code, errors: [error.message] });
  });
  await app.register(originPlugin, {
    live,
    audience: live,
    settings: { maxHeldRequests: 100, dvr: 'on' },
    targetDurationS: 4,
    metrics: createMetrics(),
    rights: {
      store: {
        streams: { byPlaybackId: async () => stream },
        signingKeys: { ofUser: async () => ({ rows: keys, next: undefined }) },
        apiKeys: { get: async (id: string) => holders.has(id) && { userId: holders.get(id)!.id } },
        users: { get: async (id: string) => holders.values().find((user) => user.id === id) },
        browserSessions: {
          byId: async (id: string) =>
            holders.has(id)
              ? { user: holders.get(id), session: { createdAt: time.now, lastSeen: time.now } }
              : undefined,
        },
      } as never,
      secret: SECRET,
      clock,
      askReceiver,
    },
    onRefused: (report) => void reports.push(report),
  });
  t.after(() => app.close());
  const index = `/hls/${playbackId}/index.m3u8`;
  return {
    app,
    time,
    userId,
    playbackId,
    holders,
    reports,
    index,
    thumbnail: `/hls/${playbackId}/thumbnail.jpg`,
    plain: `/hls/${playbackId}/${mediaPath}/source.m3u8`,
    /** @param to the new keys; a second passes after the change, so that the keys are read again */
    setKeys(to: readonly SigningKey[]) {
      keys = to;
      time.monotonic += 1001;
    },
    setPolicy(to: PlaybackPolicy | undefined) {
      stream = { ...stream, playbackPolicy: to };
    },
    async get(url: string, headers: Record<string, string> = {}) {
      const response = await app.inject({ url, headers });
      const { statusCode: status, headers: answered, body } = response;
      const code = status < 400 ? undefined : response.json<{ code: string }>().code;
      return {
        status,
        code,
        cacheControl: answered['cache-control'],
        body,
        headers: answered,
        raw: response.rawPayload,
      };
    },
  };
}

type Fixture = Awaited<ReturnType<typeof setUp>>;

/** A stream with the policy `jwt`, a key of its owner, and a token. */
async function setUpToken(t: TestContext) {
  const fixture = await setUp(t, { type: 'jwt' });
  const pair = someSigningPair(fixture.userId);
  fixture.setKeys([pair.key]);
  const sign = (claims: Readonly<Record<string, unknown>> = {}) =>
    signToken(pair.privateKey, pair.key.publicKey, { sub: fixture.playbackId, ...claims });
  return { ...fixture, pair, sign, token: await sign() };
}

/** The first address of a playlist that matches, made absolute as a player does. */
function addressIn(playlist: string, of: RegExp, url: string): string {
  const [, address = assert.fail(`no ${of} in ${playlist}`)] = of.exec(playlist) ?? [];
  const { pathname, search } = new URL(address, `http://host${url}`);
  return pathname + search;
}

const VARIANT = /\n([^#\n]+\.m3u8)\n/;
const SEGMENT = /\n([^#\n]+\.m4s)\n/;

/** Requests the playlists one after another, as a player does. */
async function follow({ get, index }: Pick<Fixture, 'get' | 'index'>, query: string) {
  const multivariant = await get(index + query);
  assert.equal(multivariant.status, 200, multivariant.body);
  const playlist = addressIn(multivariant.body, VARIANT, index);
  const media = await get(playlist);
  assert.equal(media.status, 200, media.body);
  return { multivariant, playlist, media, segment: addressIn(media.body, SEGMENT, playlist) };
}

async function isRefused({ get, index }: Pick<Fixture, 'get' | 'index'>, token: string, why: RegExp, what: string) {
  for (const [url, headers] of [
    [`${index}?jwt=${token}`, {}],
    [index, { 'livepeer-jwt': token }],
  ] as const) {
    const answer = await get(url, headers);
    assert.deepEqual(
      [answer.status, answer.code, answer.cacheControl],
      [401, 'playback_unauthorized', 'no-store'],
      what,
    );
    assert.match(JSON.parse(answer.body).errors[0], why, what);
    assert.ok(!answer.body.includes(token), 'the token is not repeated in the answer');
  }
}

test('a public stream has no ticket and no proof, and caches may keep its answers', async (t) => {
  const fixture = await setUp(t);
  for (const policy of [undefined, { type: 'public' }, { type: 'public', allowedOrigins: ['*'] }] as const) {
    fixture.setPolicy(policy);
    const { multivariant, playlist, media, segment } = await follow(fixture, '');
    assert.deepEqual([multivariant.body, multivariant.cacheControl], [MULTIVARIANT, 'max-age=0, s-maxage=2']);
    assert.deepEqual([playlist, media.body], [fixture.plain, MEDIA]);
    assert.equal((await fixture.get(segment)).status, 200);
  }
});

test('a token in the query is exchanged for a ticket, which relative addresses carry along', async (t) => {
  const fixture = await setUpToken(t);
  const { multivariant, playlist, media, segment } = await follow(fixture, `?jwt=${fixture.token}`);
  for (const { cacheControl, body } of [multivariant, media]) {
    assert.equal(cacheControl, 'private, no-store');
    assert.ok(!body.includes(fixture.token), 'the token itself is in no playlist');
  }
  assert.match(playlist, new RegExp(`^/hls/${fixture.playbackId}/${mediaPath}/v/[\\w-]+/source\\.m3u8$`));
  assert.match(multivariant.body, new RegExp(`URI="${mediaPath}/v/[\\w-]+/audio\\.m3u8"`));
  assert.match(media.body, /RENDITION-REPORT:URI="audio\.m3u8"/, 'other playlists are in the same folder');
  const got = await fixture.get(segment);
  assert.deepEqual([got.status, got.body, got.cacheControl], [200, 'media', 'max-age=24, immutable']);
  for (const named of [/MAP:URI="([^"]+)"/, /PART:DURATION=0.33,URI="([^"]+)"/, /TYPE=PART,URI="([^"]+)"/]) {
    assert.equal((await fixture.get(addressIn(media.body, named, playlist))).status, 200, String(named));
  }
});

test('a player that sends its token as a header with each request needs no ticket', async (t) => {
  const fixture = await setUpToken(t);
  const headers = { 'livepeer-jwt': fixture.token, 'accept-encoding': 'gzip' };
  const { status, raw, cacheControl } = await fixture.get(fixture.plain, headers);
  assert.deepEqual([status, cacheControl], [200, 'private, no-store']);
  const segment = addressIn(gunzipSync(raw).toString(), SEGMENT, fixture.plain);
  assert.equal((await fixture.get(segment)).status, 200);
  assert.equal((await fixture.get(fixture.plain)).status, 401);
});

test('all viewers get the same addresses of media, and each gets its own ticket', async (t) => {
  const fixture = await setUpToken(t);
  const one = await follow(fixture, `?jwt=${fixture.token}`);
  const other = await follow(fixture, `?jwt=${await fixture.sign({ custom: 'other' })}`);
  assert.notEqual(one.playlist, other.playlist);
  assert.equal(one.segment, other.segment);
  assert.equal(one.media.body, other.media.body);
});

test('without a right nothing can be fetched: no playlist, no thumbnail, no media under a guessable name', async (t) => {
  const fixture = await setUpToken(t);
  for (const url of [
    fixture.index,
    fixture.plain,
    fixture.thumbnail,
    `${fixture.index}?jwt=`,
    `${fixture.index}?jwt=a&jwt=b`,
  ]) {
    const { status, code, cacheControl } = await fixture.get(url);
    assert.deepEqual([status, code, cacheControl], [401, 'playback_unauthorized', 'no-store'], url);
  }
  const folder = fixture.plain.replace('source.m3u8', '');
  const { segment } = await follow(fixture, `?jwt=${fixture.token}`);
  for (const url of [
    `${folder}source/12.m4s`,
    `${folder}s/AAAAAAAAAAAAAAAA/source/12.m4s`,
    segment.replace('12.m4s', '13.m4s'),
    segment.replace('12.m4s', 'init-0.mp4'),
  ]) {
    const { status, code, cacheControl } = await fixture.get(url);
    assert.deepEqual([status, code, cacheControl], [404, 'not_found', 'no-store'], url);
  }
  const thumbnail = await fixture.get(`${fixture.thumbnail}?jwt=${fixture.token}`);
  assert.deepEqual([thumbnail.status, thumbnail.body, thumbnail.cacheControl], [200, 'jpeg', 'private, no-store']);
});

test('a token is accepted only within its time, for its stream, signed with ES256 by an enabled key of the owner', async (t) => {
  const fixture = await setUpToken(t);
  const { pair, userId, playbackId, sign } = fixture;
  const now = Math.floor(fixture.time.now / 1000);
  const stranger = someSigningPair(newUserId());
  const claims = { action: 'pull', pub: pair.key.publicKey, sub: playbackId, iat: now, exp: now + 60 };
  const hs256 = (secret: string) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(createSecretKey(Buffer.from(secret)));
  const byStranger = (change: object) =>
    signToken(stranger.privateKey, stranger.key.publicKey, { ...claims, ...change });
  const [head, body, signature] = fixture.token.split('.');
  const changed = Buffer.from(JSON.stringify({ ...claims, exp: now + 9999 })).toString('base64url');
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ['expired', await sign({ exp: now - 1 }), /expired/],
    ['early by nbf', await sign({ nbf: now + 60 }), /not valid yet/],
    ['early by iat', await sign({ iat: now + 60 }), /not valid yet/],
    ['without an end', await sign({ exp: undefined }), /no right/],
    ['of another stream', await sign({ sub: someStream(userId).playbackId }), /no right/],
    ['of no stream', await sign({ sub: undefined }), /no right/],
    ['for publishing', await sign({ action: 'push' }), /no right/],
    ['of another user, who names its own key', await byStranger({ pub: stranger.key.publicKey }), /no right/],
    ['of another user, who names the key of the owner', await byStranger({}), /no right/],
    ['algorithm none', new UnsecuredJWT(claims).encode(), /no right/],
    [
      'algorithm none, with a signature',
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.${signature}`,
      /no right/,
    ],
    ['HS256 with the public key as PEM', await hs256(pemOf(pair.key.publicKey)), /no right/],
    ['HS256 with the public key as base64', await hs256(pair.key.publicKey), /no right/],
    ['changed after it was signed', `${head}.${changed}.${signature}`, /no right/],
    ['cut off', fixture.token.slice(0, -4), /no right/],
    ['no token', 'x.y.z', /no right/],
    ['too long', 'x'.repeat(5000), /no right/],
  ];
  for (const [what, token, why] of refused) await isRefused(fixture, token, why, what);
  assert.equal((await fixture.get(`${fixture.index}?jwt=${fixture.token}`)).status, 200, 'the right token is accepted');
  const byKid = await new SignJWT({ sub: playbackId, exp: now + 60 })
    .setProtectedHeader({ alg: 'ES256', kid: pair.key.id })
    .sign(await importPKCS8(pemOf(pair.privateKey), 'ES256'));
  assert.equal((await fixture.get(`${fixture.index}?jwt=${byKid}`)).status, 200, 'a key may be named by its id');
});

test('viewers are stopped when their token expires, or its key is disabled or deleted', async (t) => {
  const fixture = await setUpToken(t);
  const { pair, token, time } = fixture;
  const { playlist } = await follow(fixture, `?jwt=${token}`);
  const statuses = async () => [
    (await fixture.get(`${fixture.index}?jwt=${token}`)).status,
    (await fixture.get(playlist)).status,
    (await fixture.get(fixture.plain, { 'livepeer-jwt': token })).status,
  ];
  for (const keys of [[{ ...pair.key, disabled: true }], []]) {
    fixture.setKeys(keys);
    assert.deepEqual(await statuses(), [401, 401, 401]);
    fixture.setKeys([pair.key]);
    assert.deepEqual(await statuses(), [200, 200, 200], 'it is valid again after its key is enabled');
  }
  time.now += 3_601_000;
  assert.deepEqual(await statuses(), [401, 401, 401]);
});

test('a ticket is valid only for its stream and policy, and cannot be forged', async (t) => {
  const fixture = await setUpToken(t);
  const other = await setUpToken(t);
  const { playlist } = await follow(fixture, `?jwt=${fixture.token}`);
  const elsewhere = playlist.replace(fixture.playbackId, other.playbackId);
  assert.equal((await other.get(elsewhere)).status, 401);
  const [, ticket = ''] = /\/v\/([\w-]+)\//.exec(playlist) ?? [];
  const flipped = ticket[30] === 'A' ? 'B' : 'A';
  for (const made of [
    ticket.slice(0, 30) + flipped + ticket.slice(31),
    ticket.slice(4),
    'x',
    'A'.repeat(9000),
    '%2e%2e',
  ]) {
    assert.ok([401, 404].includes((await fixture.get(playlist.replace(ticket, made))).status), made);
  }
  fixture.setPolicy({ type: 'webhook', webhookId: 'w' });
  assert.equal((await fixture.get(playlist)).status, 401, 'another policy requires another credential');
  fixture.setPolicy(undefined);
  assert.equal((await fixture.get(playlist)).status, 404, 'a public stream has no tickets');
});

test('the addresses of media change with the policy, so that old addresses are useless', async (t) => {
  const fixture = await setUp(t);
  const before = await follow(fixture, '');
  fixture.setPolicy({ type: 'jwt' });
  const pair = someSigningPair(fixture.userId);
  fixture.setKeys([pair.key]);
  assert.equal((await fixture.get(before.segment)).status, 404);
  const token = await signToken(pair.privateKey, pair.key.publicKey, { sub: fixture.playbackId });
  const after = await follow(fixture, `?jwt=${token}`);
  fixture.setPolicy({ type: 'jwt', allowedOrigins: ['https://example.com'] });
  assert.equal((await fixture.get(after.segment)).status, 404);
  assert.notEqual((await follow(fixture, `?jwt=${token}`)).segment, after.segment);
});

test('pages of other origins are refused with 403 under every type of policy, and requests without a page are admitted', async (t) => {
  const fixture = await setUpToken(t);
  const allowedOrigins = ['https://example.com', 'https://two.example.com:8443/'];
  const headersOf: readonly (readonly [Record<string, string>, boolean])[] = [
    [{}, true],
    [{ origin: 'https://example.com' }, true],
    [{ origin: 'https://two.example.com:8443' }, true],
    [{ origin: 'null', referer: 'https://example.com/page?x' }, true],
    [{ referer: 'https://example.com/page' }, true],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    // The dashboard of the server itself.
    [{ 'sec-fetch-site': 'same-origin', referer: 'https://live.example.org/dashboard/streams' }, true],
    [{ host: 'live.example.org:8080', referer: 'http://live.example.org:8080/dashboard/streams' }, true],
    [{ host: 'live.example.org', referer: 'https://live.example.org/dashboard/streams' }, true],
    [{ host: 'live.example.org:8080', referer: 'http://live.example.org:8081/' }, false],
    [{ host: 'live.example.org', referer: 'https://evil.test/live.example.org' }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ origin: 'null', 'sec-fetch-site': 'cross-site' }, false],
    [{ origin: 'https://example.com.evil.test' }, false],
    [{ origin: 'http://example.com' }, false],
    [{ origin: 'https://evil.test', referer: 'https://example.com/' }, false],
    [{ origin: 'null', referer: 'https://evil.test/https://example.com' }, false],
  ];
  for (const type of ['jwt', 'public'] as const) {
    fixture.setPolicy({ type, allowedOrigins });
    for (const [headers, isAllowed] of headersOf) {
      const { status, code, cacheControl } = await fixture.get(`${fixture.index}?jwt=${fixture.token}`, headers);
      const expected = isAllowed ? [200, undefined, 'private, no-store'] : [403, 'origin_not_allowed', 'no-store'];
      assert.deepEqual([status, code, cacheControl], expected, `${type} ${JSON.stringify(headers)}`);
      assert.equal(
        (await fixture.get(`${fixture.thumbnail}?jwt=${fixture.token}`, headers)).status,
        isAllowed ? 200 : 403,
      );
    }
  }
  const { playlist, segment } = await follow(fixture, '');
  assert.equal(playlist, fixture.plain, 'a public stream needs no ticket');
  assert.equal((await fixture.get(playlist, { origin: 'https://evil.test' })).status, 403);
  assert.equal((await fixture.get(segment)).status, 200);
});

test('an access key causes one call, is carried along by a ticket, and is checked again in time', async (t) => {
  const asked: string[] = [];
  let allowed = true;
  const policy = { type: 'webhook', webhookId: 'w', refreshInterval: 100 } as const;
  const fixture = await setUp(t, policy, async ({ accessKey }) => {
    asked.push(accessKey);
    return allowed && accessKey === 'good key';
  });
  const { playlist, multivariant } = await follow(fixture, '?accessKey=good%20key');
  assert.ok(!multivariant.body.includes('good'), 'the access key itself is in no playlist');
  assert.equal((await fixture.get(fixture.plain, { 'livepeer-access-key': 'good key' })).status, 200);
  assert.deepEqual(asked, ['good key']);
  for (const [key, code] of [
    ['bad', 'playback_unauthorized'],
    ['', 'playback_unauthorized'],
    ['x'.repeat(1025), 'playback_unauthorized'],
  ]) {
    assert.equal((await fixture.get(`${fixture.index}?accessKey=${key}`)).code, code);
  }
  assert.deepEqual(asked, ['good key', 'bad']);
  allowed = false;
  fixture.time.monotonic += 100_001;
  assert.equal((await fixture.get(playlist)).status, 401, 'the answer has expired, and the new answer is a refusal');
});

test('an owner token admits its owner under every policy, in addresses and below tickets', async (t) => {
  const fixture = await setUp(t);
  const { holders, userId, playbackId, time } = fixture;
  const credentials = [{ keyId: newApiKeyId() }, { sessionId: newBrowserSessionId() }] as const;
  holders.set(credentials[0].keyId, someUser({ id: userId }));
  holders.set(credentials[1].sessionId, someUser({ isAdmin: true }));
  for (const type of ['jwt', 'webhook'] as const) {
    fixture.setPolicy({ type, ...(type === 'webhook' && { webhookId: 'w' }) });
    for (const credential of credentials) {
      const token = OWNER_TOKENS.issue(playbackId, { credential, expiresAt: ms(time.now + 60_000) }).reveal();
      const { multivariant, media } = await follow(fixture, `?jwt=${token}`);
      assert.ok(!(multivariant.body + media.body).includes('owner.'), 'the token itself is in no playlist');
      const thumbnail = await fixture.get(`${fixture.thumbnail}?jwt=${token}`);
      assert.deepEqual([thumbnail.status, thumbnail.cacheControl], [200, 'private, no-store']);
      assert.equal((await fixture.get(fixture.plain, { 'livepeer-jwt': token })).status, 200);
    }
    assert.equal((await fixture.get(fixture.index)).status, 401, 'everybody else needs a right');
  }
});

test('an owner token ends with its time and its credential, also below a ticket', async (t) => {
  const fixture = await setUp(t, { type: 'webhook', webhookId: 'w' });
  const { holders, userId, playbackId, time } = fixture;
  const owner = someUser({ id: userId });
  const keyId = newApiKeyId();
  holders.set(keyId, owner);
  const expiresAt = ms(time.now + 60_000);
  const token = OWNER_TOKENS.issue(playbackId, { credential: { keyId }, expiresAt }).reveal();
  const { playlist } = await follow(fixture, `?jwt=${token}`);
  const statuses = async () => [
    (await fixture.get(`${fixture.index}?jwt=${token}`)).status,
    (await fixture.get(playlist)).status,
  ];
  for (const change of [undefined, { suspended: true }, { id: newUserId() }] as const) {
    holders.delete(keyId);
    if (change) holders.set(keyId, { ...owner, ...change });
    time.monotonic += 1001;
    assert.deepEqual(await statuses(), [401, 401], JSON.stringify(change ?? 'revoked'));
  }
  holders.set(keyId, owner);
  time.monotonic += 1001;
  assert.deepEqual(await statuses(), [200, 200]);
  time.now = expiresAt;
  assert.deepEqual(await statuses(), [401, 401]);
});

test('an owner token is good for its stream only, cannot be made up, and does not open pages of other origins', async (t) => {
  const fixture = await setUp(t, { type: 'jwt', allowedOrigins: ['https://example.com'] });
  const { holders, userId, playbackId, time } = fixture;
  const [keyId, otherId] = [newApiKeyId(), newApiKeyId()];
  for (const id of [keyId, otherId]) holders.set(id, someUser({ id: userId }));
  const claim = { credential: { keyId }, expiresAt: ms(time.now + 60_000) };
  const token = OWNER_TOKENS.issue(playbackId, claim).reveal();
  const [, kind, id, expiry, signature] = token.split('.');
  for (const wrong of [
    OWNER_TOKENS.issue(someStream(userId).playbackId, claim).reveal(),
    new OwnerTokens(new Secret('of another service')).issue(playbackId, claim).reveal(),
    `owner.b.${id}.${expiry}.${signature}`,
    `owner.${kind}.${otherId}.${expiry}.${signature}`,
    `owner.${kind}.${id}.${(claim.expiresAt + 1).toString(36)}.${signature}`,
    `owner.${kind}.${id}.${expiry}.`,
    'owner.',
  ]) {
    await isRefused(fixture, wrong, /no right/, wrong);
  }
  const url = `${fixture.index}?jwt=${token}`;
  assert.equal((await fixture.get(url, { origin: 'https://evil.test' })).code, 'origin_not_allowed');
  assert.equal((await fixture.get(url, { 'sec-fetch-site': 'same-origin' })).status, 200);
});

test('refusals are counted for each stream and reported once', async (t) => {
  const fixture = await setUpToken(t);
  for (let count = 0; count < 5; count += 1) await fixture.get(fixture.index);
  await fixture.get(`${fixture.index}?jwt=${await fixture.sign({ sub: 'x' })}`);
  assert.equal(fixture.reports.length, 0);
  await fixture.app.close();
  assert.equal(fixture.reports.length, 1);
  const { from, until, streamId: _, ...report } = fixture.reports[0]!;
  assert.ok(from <= until);
  assert.deepEqual(report, { count: 6, reasons: { no_credentials: 5, wrong_stream: 1 } });
});

test('tokens from a network with too many wrong ones are not verified, while its known viewers go on watching', async (t) => {
  const fixture = await setUpToken(t);
  const { playlist } = await follow(fixture, `?jwt=${fixture.token}`);
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const [head, , signature] = fixture.token.split('.');
  const statuses = new Map<number, number>();
  for (let count = 0; count < 130; count += 1) {
    const claims = { pub: fixture.pair.key.publicKey, sub: fixture.playbackId, exp: 1, count };
    const wrong = `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
    const { status } = await fixture.get(`${fixture.index}?jwt=${wrong}`, from('198.51.100.1'));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.deepEqual(
    [...statuses],
    [
      [401, 120],
      [429, 10],
    ],
  );
  const fresh = await fixture.sign({ custom: 1 });
  assert.equal((await fixture.get(`${fixture.index}?jwt=${fresh}`, from('198.51.100.1'))).status, 429);
  assert.equal((await fixture.get(`${fixture.index}?jwt=${fixture.token}`, from('198.51.100.1'))).status, 200);
  assert.equal((await fixture.get(playlist, from('198.51.100.1'))).status, 200);
  assert.equal((await fixture.get(`${fixture.index}?jwt=${fresh}`, from('203.0.113.1'))).status, 200);
  await fixture.app.close();
  assert.deepEqual(fixture.reports[0]?.reasons, { wrong_signature: 120, too_many_attempts: 11 });
});

test('another node is answered without a check, and nobody can pass for a node', async (t) => {
  const fixture = await setUpToken(t);
  const secret = 'shared by all nodes';
  const proof = createHmac('sha256', secret).update(`${fixture.playbackId} `).digest('base64url');
  // This node is alone, so it accepts no such header.
  assert.equal((await fixture.get(fixture.index, { 'x-millrace-viewers': `.${proof}` })).status, 401);
});
