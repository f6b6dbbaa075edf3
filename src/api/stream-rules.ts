/**
 * The rules of a stream's fields that a schema cannot express.
 */
import { MillraceError } from '#domain/errors.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { type Profile, SOURCE_RENDITION } from '#domain/profile.ts';
import type { Stream, UserTags } from '#domain/stream.ts';
import { playbackPolicyProblem } from './playback-policy-rules.ts';
import { isStorable } from './schemas/text.ts';

const MAX_USER_TAGS_LENGTH = 2048;
const MAX_FPS = 240;

/** The fields of a body that matches its schema. */
interface SentFields {
  readonly profiles?: readonly Profile[] | null | undefined;
  readonly record?: boolean | undefined;
  readonly creatorId?: string | { readonly value: string } | undefined;
  readonly userTags?: UserTags | undefined;
  readonly playbackPolicy?: PlaybackPolicy | null | undefined;
}

/** The fields as they are stored. */
type StoredFields = Partial<Pick<Stream, 'profiles' | 'record' | 'creatorId' | 'userTags' | 'playbackPolicy'>>;

/**
 * The fields that were sent, in the form in which they are stored. A null in `profiles` becomes the defaults, and a null in
 * `playbackPolicy` removes the policy.
 * @throws {MillraceError} `invalid_body`
 */
export function storedFields(sent: SentFields, defaultProfiles: readonly Profile[]): StoredFields {
  const { profiles, record, creatorId, userTags, playbackPolicy } = sent;
  const problem =
    (profiles && profilesProblem(profiles)) ||
    (userTags && userTagsProblem(userTags)) ||
    (playbackPolicy && playbackPolicyProblem(playbackPolicy));
  if (problem) throw new MillraceError('invalid_body', problem);
  return {
    ...(profiles !== undefined && { profiles: profiles ?? defaultProfiles }),
    ...(record !== undefined && { record }),
    ...(creatorId !== undefined && { creatorId: typeof creatorId === 'string' ? creatorId : creatorId.value }),
    ...(userTags !== undefined && { userTags }),
    ...(playbackPolicy !== undefined && { playbackPolicy: playbackPolicy ?? undefined }),
  };
}

/**
 * Describes what is wrong with a list of profiles that matches its schema, or gives undefined when nothing is. The sentence names fields,
 * not the values sent.
 */
export function profilesProblem(profiles: readonly Profile[]): string | undefined {
  const indexByName = new Map<string, number>();
  for (const [index, profile] of profiles.entries()) {
    if (profile.name === SOURCE_RENDITION) {
      return `The field profiles[${index}].name must not be "${SOURCE_RENDITION}", because that names the source rendition; choose another name.`;
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

/**
 * Describes what is wrong with tags, or gives undefined when nothing is. The names of tags come from the client, so the sentence repeats
 * none.
 */
export function userTagsProblem(tags: Readonly<Record<string, unknown>>): string | undefined {
  const isValue = (value: unknown) =>
    typeof value === 'string' ? isStorable(value) : typeof value === 'number' && Number.isFinite(value);
  const isFine = ([name, value]: readonly [string, unknown]) =>
    isStorable(name) && (Array.isArray(value) ? value.every(isValue) : isValue(value));
  if (!Object.entries(tags).every(isFine)) {
    return 'The field userTags may hold only text without U+0000, numbers, and lists of both; leave out everything else.';
  }
  if (JSON.stringify(tags).length > MAX_USER_TAGS_LENGTH) {
    return `The field userTags has more than ${MAX_USER_TAGS_LENGTH} characters as JSON; send fewer or shorter tags.`;
  }
  return undefined;
}
