/**
 * A presentation that only remembers what it was given, for tests of the stages before packaging.
 */
import type { Presentation, PresentationOptions } from '#hls/hls.ts';
import type { RenditionId, SessionEvent } from '#media/session-event.ts';

/** The calls that a presentation received, in order. */
export type Told =
  | (SessionEvent & { readonly renditionId: RenditionId })
  | { readonly type: 'offer'; readonly renditionIds: readonly RenditionId[] }
  | { readonly type: 'disposed' };

/** A presentation and its memory. */
export interface RecordingPresentation extends Presentation {
  readonly options: Partial<PresentationOptions>;
  readonly told: Told[];
}

/** Makes a presentation that remembers its calls. Requests for its playlists are rejected. */
export function recordingPresentation(options: Partial<PresentationOptions> = {}): RecordingPresentation {
  const told: Told[] = [];
  const unasked = () => Promise.reject(new Error('a recording presentation has no playlists'));
  return {
    options,
    told,
    isRequired: true,
    write: (renditionId, event) => void told.push({ ...event, renditionId }),
    offer: (renditionIds) => void told.push({ type: 'offer', renditionIds }),
    showNow: () => {},
    attach: () => ({ [Symbol.dispose]: () => {} }),
    multivariant: unasked,
    playlist: unasked,
    media: unasked,
    [Symbol.dispose]: () => void told.push({ type: 'disposed' }),
  };
}
