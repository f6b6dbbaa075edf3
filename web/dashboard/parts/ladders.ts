/**
 * The ladders that are offered where a stream is made.
 */
import type { Profile } from '../../shared/types.ts';

const P1080: Profile = { name: '1080p', width: 1920, height: 1080, fps: 0, bitrate: 5_000_000 };
const P720: Profile = { name: '720p', width: 1280, height: 720, fps: 0, bitrate: 2_500_000 };
const P480: Profile = { name: '480p', width: 854, height: 480, fps: 0, bitrate: 1_200_000 };
const P360: Profile = { name: '360p', width: 640, height: 360, fps: 0, bitrate: 700_000 };
const P240: Profile = { name: '240p', width: 426, height: 240, fps: 0, bitrate: 300_000 };

/** A ladder with its name. */
export interface Ladder {
  readonly id: string;
  readonly name: string;
  readonly meaning: string;
  /** Null is the default of the server. */
  readonly profiles: readonly Profile[] | null;
}

/** Every ladder, the usual choice first. */
export const LADDERS: readonly Ladder[] = [
  {
    id: 'light',
    name: 'Light',
    meaning: 'Source, 480p and 240p. For phones on slow networks, at little cost.',
    profiles: [P480, P240],
  },
  {
    id: 'full',
    name: 'Full',
    meaning: 'Source, 720p, 480p, 360p and 240p. Plays well everywhere.',
    profiles: [P720, P480, P360, P240],
  },
  { id: 'source', name: 'Source only', meaning: 'What you send is what they get. Costs no CPU.', profiles: [] },
  { id: 'default', name: 'As the server is set', meaning: 'The ladder that the operator chose.', profiles: null },
];

/** The profiles that can be added one by one. */
export const COMMON_PROFILES: readonly Profile[] = [P1080, P720, P480, P360, P240];
