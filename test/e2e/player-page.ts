/**
 * What the player page shows, for tests in a browser.
 */
import type { Page, Route } from 'playwright-core';
import { waitFor } from '../support/wait-for.ts';

/** The pauses before the player page starts a lost session again, and the shorter ones that replace them, in milliseconds. */
export const RESTART_PAUSES = { 1000: 100, 2000: 100, 4000: 100, 8000: 100 };

/** Waits until a data attribute of the page has a value. The page keeps there what it shows. */
export const untilShown = (page: Page, attribute: string, value: string): Promise<void> =>
  page.locator(`html[data-${attribute}="${value}"]`).waitFor({ state: 'attached', timeout: 60_000 });

/**
 * Changes the text of each `index.m3u8` that the page loads. Of several changes, only the newest one that was not taken back is made.
 * @returns a function that takes this change back
 */
export async function changeIndex(page: Page, change: (text: string) => string): Promise<() => Promise<void>> {
  const answer = async (route: Route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: change(await response.text()) });
  };
  await page.route('**/index.m3u8', answer);
  return () => page.unroute('**/index.m3u8', answer);
}

/** The position of the page's video, in seconds. */
export const positionOf = async (page: Page): Promise<number> =>
  Number(await page.evaluate('document.querySelector("video").currentTime'));

/** Waits until the video has played half a second. */
export async function untilPlaying(page: Page): Promise<void> {
  const from = await positionOf(page);
  await waitFor(async () => Math.abs((await positionOf(page)) - from) > 0.5, { what: 'the video to play' });
}

/**
 * Moves the mouse over the middle of the time line until it shows a picture. The first movement only shows the controls, the browser may join
 * movements that follow each other at once, and the controls hide again when the mouse rests.
 */
export async function untilPreviewed(page: Page): Promise<void> {
  const box = (await page.locator('#seek').boundingBox())!;
  let moved = 0;
  const isPreviewed = async () => {
    moved += 1;
    await page.mouse.move(box.x + box.width / 2 + (moved % 2), box.y + box.height / 2);
    return page.locator('#preview-picture').isVisible();
  };
  await waitFor(isPreviewed, { what: 'a picture at the time line' });
}
