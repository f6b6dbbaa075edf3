/**
 * How large are the scripts of the dashboard, compressed and without hls.js?
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundleFiles } from '#dashboard/bundler/bundle-files.ts';
import { startServerProcess } from '../test/support/server.ts';
import { openDashboard, SIGNED_IN_PAGE } from './support/dashboard.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const KB = 1000;
const PLAYER = join(import.meta.dirname, '../web/player');

/**
 * Answers the question above for the first page, as a browser loads it, and for everything: all scripts of the dashboard and of the player.
 */
export async function dashboardScriptKb(): Promise<readonly Answer[]> {
  const own = [...(await bundleFiles())].filter(([name]) => name.endsWith('.js')).map(([, bytes]) => bytes);
  const names = (await readdir(PLAYER)).filter((name) => name.endsWith('.js'));
  const all = [...own, ...(await Promise.all(names.map((name) => readFile(join(PLAYER, name)))))];
  const allBytes = all.reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0);
  return [
    atMost('script of the first page of the dashboard, as sent', (await firstPageBytes()) / KB, 45, 'kB'),
    atMost('all scripts of the dashboard and the player, without hls.js', allBytes / KB, 120, 'kB'),
  ];
}

async function firstPageBytes(): Promise<number> {
  await using server = await startServerProcess({ settings: MEASURED });
  await using dashboard = await openDashboard(server);
  await using watched = await dashboard.newPage();
  const { page } = watched;
  const sizes: Promise<{ readonly responseBodySize: number }>[] = [];
  page.on('requestfinished', (request) => {
    if (request.resourceType() === 'script') sizes.push(request.sizes());
  });
  await page.goto(dashboard.url('/'));
  await page.locator(SIGNED_IN_PAGE).waitFor();
  return (await Promise.all(sizes)).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
}
