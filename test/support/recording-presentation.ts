/**
 * A presentation that only remembers what it was told; for tests of what stands before packaging.
 */
import type { Presentation, PresentationOptions } from '#hls/hls.ts';
import type { Packet } from '#media/packet.ts';
import type { Track } from '#media/track.ts';

/** What a presentation was told, in order. */
export type Told =
  | { readonly type: 'track'; readonly renditionId: string; readonly track: Track }
  | { readonly type: 'packet'; readonly renditionId: string; readonly packet: Packet }
  | { readonly type: 'gap'; readonly untilS: number }
  | { readonly type: 'expect' | 'unexpect'; readonly renditionIds: readonly string[] }
  | { readonly type: 'end' }
  | { readonly type: 'disposed' };

/** The ordinal it answers every gap with. */
export const ORDINAL_AFTER_GAP = 40;

/** A presentation and its memory. */
export interface RecordingPresentation extends Presentation {
  readonly options: Partial<PresentationOptions>;
  readonly told: Told[];
}

/** Makes one; its playlists are never asked for. */
export function recordingPresentation(options: Partial<PresentationOptions> = {}): RecordingPresentation {
  const told: Told[] = [];
  const unasked = () => Promise.reject(new Error('a recording presentation has no playlists'));
  return {
    options,
    told,
    setTrack: (renditionId, track) => void told.push({ type: 'track', renditionId, track }),
    write: (renditionId, packet) => void told.push({ type: 'packet', renditionId, packet }),
    expect: (renditionIds) => void told.push({ type: 'expect', renditionIds }),
    unexpect: (renditionIds) => void told.push({ type: 'unexpect', renditionIds }),
    fillGap: (untilS) => {
      told.push({ type: 'gap', untilS });
      return ORDINAL_AFTER_GAP;
    },
    end: () => void told.push({ type: 'end' }),
    multivariant: unasked,
    playlist: unasked,
    media: unasked,
    stats: { mediaBytes: 0, lastMediaSequence: 0 },
    [Symbol.dispose]: () => void told.push({ type: 'disposed' }),
  };
}
