/**
 * Uses the types that openapi-typescript makes, as a client would; the test compiles it.
 */
import type { components, paths } from './generated/types.js';

type Stream = components['schemas']['Stream'];
type Created = paths['/stream']['post']['responses'][201]['content']['application/json'];

export const body: paths['/stream']['post']['requestBody']['content']['application/json'] = {
  name: 'my first stream',
  profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }],
};

export function describeStream(stream: Stream & Created): string {
  const issues: readonly string[] = stream.issues ?? [];
  return `${stream.name} ${stream.streamKey ?? ''} ${issues.join()} ${stream.health?.source.video?.width ?? 0}`;
}

export type ErrorCode = components['schemas']['Error']['code'];
