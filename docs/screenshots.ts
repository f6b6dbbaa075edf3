/**
 * Makes the pictures in `docs/images/` of a server with some life in it: every page of the dashboard, light and dark, and the player. `npm run
 * screenshots` writes them; `npm run screenshots -- /tmp/x` writes them elsewhere, with phones, to be looked at.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { launchChromium } from '../test/support/chromium.ts';
import { startPublisher } from '../test/support/publisher.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';

const FOLDER = process.argv[2] ?? join(import.meta.dirname, 'images');
const WITH_PHONES = process.argv[2] !== undefined;
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 320, height: 420 };
const PHONE = { width: 390, height: 844 };
const PLAYER = { width: 1280, height: 800 };
const LADDER = [
  { name: '480p', width: 854, height: 480, fps: 0, bitrate: 1_200_000 },
  { name: '240p', width: 426, height: 240, fps: 0, bitrate: 300_000 },
];

await using parts = new AsyncDisposableStack();
const server = parts.use(await startServerProcess({ settings: { MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1' } }));
const chromium = parts.use(await launchChromium());
await mkdir(FOLDER, { recursive: true });
const storageState = await signIn();

await shoot('welcome', '/', 'Welcome to Millrace');
const { live, sick, waiting, recordingId } = await populate({ api: server.api, rtmpUrl: (key) => server.rtmpUrl(key) });
for (const [name, path, text] of [
  ['home', '/', 'Live now'],
  ['streams', '/streams', 'the evening show'],
  ['new-stream', '/streams/new', 'What viewers can choose from'],
  ['go-live', `/streams/${waiting.id}/start`, 'Waiting for your encoder'],
  ['stream', `/streams/${live.id}`, 'Keyframe every'],
  ['sessions', '/sessions', 'the evening show'],
  ['recordings', '/recordings', 'Recording now'],
  ['recording', `/recordings/${recordingId}`, 'Make a clip'],
  ['webhooks', '/webhooks', 'shop'],
  ['keys', '/keys', 'this browser'],
  ['usage', '/usage', 'Together'],
  ['admin', '/admin', 'Ports for encoders'],
] as const) {
  await shoot(name, path, text);
}
// These two are always dark.
await shoot('wall', '/wall', 'Issues', { colorSchemes: ['dark'] });
await shoot('dock', `/dock/${sick.id}`, 'Issues', { colorSchemes: ['dark'], wide: NARROW });
await shootPlayer(live.playbackId);

/** Streams, one of them live, and what belongs to them. */
async function populate({
  api,
  rtmpUrl,
}: Pick<TestServer, 'api'> & { readonly rtmpUrl: (this: void, streamKey: string) => string }) {
  for (const name of [
    'Chapel, Sunday service',
    'Konferenz 2026: Hauptbühne',
    'بث مباشر من القاهرة',
    'Loading dock camera 3',
  ])
    await api.createStream({ name, profiles: LADDER });
  const ended = await api.createStream({ name: 'Town council', profiles: [] });
  const video = { width: 320, height: 180, bitrateBps: 300_000, fps: { num: 15, den: 1 }, gop: 15 } as const;
  const before = await startPublisher({ url: rtmpUrl(ended.streamKey), video });
  await until(async () => {
    const sessions = (await (await api.request('GET', `/stream/${ended.id}/sessions`)).json()) as { phase: string }[];
    return sessions[0]?.phase === 'live';
  });
  await before[Symbol.asyncDispose]();
  const shown = await api.createStream({ name: 'the evening show', profiles: LADDER.slice(1), record: true });
  const big = { width: 1280, height: 720, bitrateBps: 1_500_000, fps: { num: 25, den: 1 }, gop: 50 } as const;
  parts.use(await startPublisher({ url: rtmpUrl(shown.streamKey), video: big }));
  const sick = await api.createStream({ name: 'Harbour webcam', profiles: [] });
  parts.use(await startPublisher({ url: rtmpUrl(sick.streamKey), video: { ...video, gop: 150 } }));
  await until(async () => (await api.getStream(sick.id)).health?.warnings.length !== 0);
  await until(async () => (await api.getStream(shown.id)).health?.renditions.every(({ state }) => state === 'running'));
  await api.request('POST', '/webhook', {
    name: 'shop',
    url: 'http://127.0.0.1:9/hooks',
    events: ['stream.started', 'session.ended'],
  });
  await api.request('POST', '/api-token', {
    name: 'monitoring',
    access: { rules: [{ resources: ['*'], methods: ['get'] }] },
  });
  await api.request('POST', '/user', { name: 'ann' });
  // Usage is written once a minute.
  await until(async () => ((await (await api.request('GET', '/data/usage')).json()) as unknown[]).length > 0);
  const [recording] = (await (await api.request('GET', '/asset')).json()) as { id: string }[];
  return {
    live: shown,
    sick,
    recordingId: recording!.id,
    waiting: await api.createStream({ name: 'My first stream', profiles: LADDER }),
  };
}

async function shoot(
  name: string,
  path: string,
  text: string,
  {
    colorSchemes = ['light', 'dark'],
    wide = WIDE,
  }: { colorSchemes?: readonly ('light' | 'dark')[]; wide?: typeof WIDE } = {},
): Promise<void> {
  const sizes = WITH_PHONES
    ? ([
        ['', wide],
        ['-phone', PHONE],
      ] as const)
    : ([['', wide]] as const);
  for (const colorScheme of colorSchemes) {
    for (const [suffix, viewport] of sizes) {
      await using watched = await chromium.newPage({
        storageState,
        colorScheme,
        viewport,
        reducedMotion: 'reduce',
        timezoneId: 'UTC',
      });
      const { page } = watched;
      await page.goto(`${server.url}/dashboard${path === '/' ? '' : path}`);
      await page.getByText(text, { exact: false }).first().waitFor();
      await page.waitForTimeout(2500);
      await page.screenshot({
        path: join(FOLDER, `dashboard-${name}${suffix}-${colorScheme}.png`),
        fullPage: WITH_PHONES,
      });
      if (watched.errors.length > 0) console.log(name, suffix, colorScheme, watched.errors, watched.failedRequests);
    }
  }
}

/** The player page, a moment after its viewer has moved the mouse. */
async function shootPlayer(playbackId: string): Promise<void> {
  await using watched = await chromium.newPage({ colorScheme: 'dark', viewport: PLAYER });
  const { page } = watched;
  await page.goto(`${server.url}/play/${playbackId}`);
  await page.locator('#latency:not(:empty)').waitFor({ state: 'attached' });
  await page.waitForTimeout(2500);
  await page.mouse.move(PLAYER.width / 2, PLAYER.height / 2);
  // The controls fade in.
  await page.waitForTimeout(1000);
  await page.screenshot({ path: join(FOLDER, 'player.png') });
  if (watched.errors.length > 0) console.log('player', watched.errors, watched.failedRequests);
}

/** Signs in once, and gives what the browser keeps of it. */
async function signIn() {
  await using watched = await chromium.newPage();
  const { page } = watched;
  await page.goto(`${server.url}/dashboard`);
  await page.getByLabel('API key').fill(server.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#content[tabindex]').waitFor();
  return await page.context().storageState();
}

async function until(isTrue: () => Promise<boolean | undefined>): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await isTrue()) === true) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error('the server did not get ready for the pictures');
}
