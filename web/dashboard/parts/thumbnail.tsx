/**
 * The thumbnail of a live stream, which is renewed while it is visible.
 */
import { useEffect, useState } from 'preact/hooks';
import { ROOT } from '../../shared/place.ts';
import { Icon } from '../../shared/ui/icon.tsx';

const EVERY_MS = 10_000;

/** The thumbnail. An icon in its place when there is none, as for streams that are not transcoded. */
export function Thumbnail({ playbackId }: { readonly playbackId: string }) {
  const [round, setRound] = useState(0);
  const [isThere, setThere] = useState(true);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden) return;
      setThere(true);
      setRound((old) => old + 1);
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="thumbnail">
      {isThere ? (
        <img
          src={`${ROOT.pathname}hls/${playbackId}/thumbnail.jpg?${round}`}
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
