/** Fragments in one piece, as files and players have them. */
import { fragment } from '#media/mp4/fragment.ts';

/** Makes a fragment, and joins its pieces. */
export const wholeFragment = (...options: Parameters<typeof fragment>): Buffer => Buffer.concat(fragment(...options));
