/**
 * The ids of renditions inside the service. They are part of the addresses of playlists and media, which limits their form.
 */
import { AUDIO_RENDITION, type Profile } from '#domain/profile.ts';
import type { RenditionId } from '#media/session-event.ts';

/** Text that can be part of an address unchanged. */
const PLAIN = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/;
/** Names that mean something else in addresses: the audio, `index.m3u8`, and the folder of tickets. */
const TAKEN: ReadonlySet<string> = new Set([AUDIO_RENDITION, 'index', 'v']);

/**
 * The id of the rendition made for a profile: the profile's name if an address can hold it and it means nothing else there. Otherwise it is
 * `~` and the profile's index. No usable name begins with `~`. Names of profiles are text of up to 500 characters.
 * @param profiles the profiles of the session, one of which is named `profileName`
 */
export function renditionIdOf(profileName: string, profiles: readonly Profile[]): RenditionId {
  if (PLAIN.test(profileName) && !TAKEN.has(profileName)) return profileName;
  return `~${profiles.findIndex(({ name }) => name === profileName)}`;
}
