/**
 * Native code handles bytes from the network only in the process of a transcoder.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { transcodersOf } from '../support/children.ts';
import { startPublisher } from '../support/publisher.ts';
import { CHEAP, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const NEEDS_PROC = {
  skip: existsSync('/proc/self/maps') ? false : 'only Linux lists the libraries of a process in /proc/<pid>/maps',
};

test('a server that transcodes and answers viewers has loaded no native module', NEEDS_PROC, async () => {
  await using server = await startServerProcess({ settings: CHEAP });
  const profile = { name: 'small', bitrate: 300_000, fps: 0, width: 320, height: 180 };
  const { streamKey, playbackId } = await server.api.createStream({ profiles: [profile] });
  await using _publisher = await startPublisher({
    url: server.rtmpUrl(streamKey),
    video: { width: 320, height: 180, fps: { num: 15, den: 1 } },
  });
  const isTranscoded = async () => {
    const response = await fetch(server.playlistUrl(playbackId));
    return response.ok && (await response.text()).includes('small.m3u8');
  };
  await waitFor(isTranscoded, { what: 'the rendition to be listed' });
  assert.equal((await fetch(`${server.url}/play/${playbackId}`)).status, 200);

  assert.deepEqual(packagedLibrariesOf(server.pid), []);
  // Beside the transcoder there may still be the process that bundles the dashboard.
  const libraries = transcodersOf(server.pid).flatMap(({ pid }) => packagedLibrariesOf(pid));
  assert.notDeepEqual(libraries, [], 'the transcoder, where FFmpeg must be seen');
});

/** The native modules, and the libraries from npm packages, that a process has mapped. The system's libraries and Node are none of these. */
function packagedLibrariesOf(pid: number): readonly string[] {
  const maps = `/proc/${pid}/maps`;
  const paths = (existsSync(maps) ? readFileSync(maps, 'utf8') : '')
    .split('\n')
    .map((line) => /\s(\/.*)$/.exec(line)?.[1] ?? '')
    .filter((path) => path.endsWith('.node') || /\/node_modules\/.*\.so(?:\.|$)/.test(path));
  return [...new Set(paths)];
}
