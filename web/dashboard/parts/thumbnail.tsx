/**
 * The thumbnail of a live stream, which is renewed while it is visible.
 */
import { useEffect, useState } from 'preact/hooks';
import { useOwnerToken } from '../../shared/owner-token.ts';
import { ROOT } from '../../shared/place.ts';
import { Icon } from '../../shared/ui/icon.tsx';

const EVERY_MS = 10_000;

/**
 * The thumbnail. An icon in its place when there is none.
 * @param props.isTranscoded other streams never have a thumbnail, so it is not asked for
 * @param props.isPublic false also when it is not known
 */
export function Thumbnail({
  streamId,
  playbackId,
  isTranscoded,
  isPublic,
}: {
  readonly streamId: string;
  readonly playbackId: string;
  readonly isTranscoded: boolean;
  readonly isPublic: boolean;
}) {
  const token = useOwnerToken(`/stream/${streamId}`, isTranscoded && !isPublic);
  const [round, setRound] = useState(0);
  const [isThere, setThere] = useState(true);
  useEffect(() => {
    if (!isTranscoded) return;
    const timer = setInterval(() => {
      if (document.hidden) return;
      setThere(true);
      setRound((old) => old + 1);
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [isTranscoded]);
  return (
    <span class="thumbnail">
      {isTranscoded && isThere && token !== undefined ? (
        <img
          src={`${ROOT.pathname}hls/${playbackId}/thumbnail.jpg?${round}${token && `&jwt=${token}`}`}
          alt=""
          loading="lazy"
          onError={() => setThere(false)}
        />
      ) : (
        <Icon name="streams" size={30} />
      )}
    </span>
  );
}
