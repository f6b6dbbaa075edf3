/**
 * What renditions are called inside the service: in addresses of playlists and media, hence in a form of their own.
 */
import type { Profile } from '#domain/profile.ts';

/** The sound of a session. */
export const AUDIO_RENDITION = 'audio';

/** Stands in an address as it is. */
const PLAIN = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/;

/**
 * The id of the rendition made for a profile: the profile's name where an address can hold it and the sound is not called so, else
 * a number behind a `~`, which no such name has. Names of profiles are text of up to 500 characters.
 * @param profiles of the session; `profileName` is that of one of them
 */
export function renditionIdOf(profileName: string, profiles: readonly Profile[]): string {
  if (PLAIN.test(profileName) && profileName !== AUDIO_RENDITION) return profileName;
  return `~${profiles.findIndex(({ name }) => name === profileName)}`;
}
