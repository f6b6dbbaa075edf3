/**
 * The ids of renditions inside the service. They stand in the addresses of playlists and media, and have a form of their own for that.
 */
import { AUDIO_RENDITION, type Profile } from '#domain/profile.ts';
import type { RenditionId } from '#media/session-event.ts';

/** Text that can stand in an address as it is. */
const PLAIN = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/;

/**
 * The id of the rendition made for a profile: the profile's name where an address can hold it and the audio does not have that name.
 * Otherwise it is the profile's place after a `~`, with which no such name begins. Names of profiles are text of up to 500 characters.
 * @param profiles of the session; `profileName` is that of one of them
 */
export function renditionIdOf(profileName: string, profiles: readonly Profile[]): RenditionId {
  if (PLAIN.test(profileName) && profileName !== AUDIO_RENDITION) return profileName;
  return `~${profiles.findIndex(({ name }) => name === profileName)}`;
}
