/**
 * The rules of profiles that a schema cannot say.
 */
import { type Profile, SOURCE_RENDITION } from '#domain/profile.ts';

const MAX_FPS = 240;

/**
 * What is wrong with a list of profiles that fits its schema, as a sentence; undefined when nothing is.
 * The sentence names fields, not the values sent.
 */
export function profilesProblem(profiles: readonly Profile[]): string | undefined {
  const indexByName = new Map<string, number>();
  for (const [index, profile] of profiles.entries()) {
    if (profile.name === SOURCE_RENDITION) {
      return `The field profiles[${index}].name must not be "${SOURCE_RENDITION}": that names the untouched source rendition, which is always there; choose another name.`;
    }
    const earlier = indexByName.get(profile.name);
    if (earlier !== undefined) {
      return `The field profiles[${index}].name is the same as profiles[${earlier}].name; give each profile a name of its own.`;
    }
    indexByName.set(profile.name, index);
    if (profile.fps / (profile.fpsDen ?? 1) > MAX_FPS) {
      return `The field profiles[${index}].fps is more than ${MAX_FPS} frames per second; lower fps or raise fpsDen.`;
    }
  }
  return undefined;
}
