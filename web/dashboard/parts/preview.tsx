/**
 * The live preview of a stream: a player, which plays while the stream is live and the page is visible.
 */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { sentenceOf } from '../../shared/errors.ts';
import { loaded } from '../../shared/loaded.ts';
import { needsToken, tokenQuery, useOwnerToken } from '../../shared/owner-token.ts';
import { ROOT } from '../../shared/place.ts';
import type { Stream } from '../../shared/types.ts';
import { Icon } from '../../shared/ui/icon.tsx';

/** The attributes of the custom element: its own and those of a `div`. */
const Player = 'millrace-player' as unknown as 'div';

/** The player of the service itself, at the address where every page finds it, so that hls.js is loaded once. */
const loadPlayer = (): Promise<unknown> => import(/* @vite-ignore */ `${ROOT.pathname}play/element.js`);

/** How long a reported latency is shown, in milliseconds. A player that is paused or has no media reports none. */
const LATENCY_MS = 3000;

/** The preview, muted. */
export function Preview({
  stream: { id, playbackId, playbackPolicy, isActive: isLive },
  children,
}: {
  readonly stream: Pick<Stream, 'id' | 'playbackId' | 'playbackPolicy' | 'isActive'>;
  /** What is shown while the stream is not live. */
  readonly children?: JSX.Element | string;
}) {
  const isVisible = useVisible();
  const [latencyS, setLatencyS] = useState<number | undefined>();
  const [isLoaded, setLoaded] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const place = useRef<HTMLDivElement>(null);
  const isShown = isLive && isVisible;
  const token = useOwnerToken(`/stream/${id}`, needsToken(playbackPolicy));
  useEffect(() => {
    if (isShown) loaded(loadPlayer()).then(() => setLoaded(true), setFailure);
  }, [isShown]);
  useEffect(() => {
    const player = place.current?.querySelector('millrace-player');
    let timer: ReturnType<typeof setTimeout> | undefined;
    const forget = () => {
      clearTimeout(timer);
      setLatencyS(undefined);
    };
    const onLatency = (event: Event) => {
      clearTimeout(timer);
      timer = setTimeout(forget, LATENCY_MS);
      setLatencyS((event as CustomEvent<{ latencyS: number }>).detail.latencyS);
    };
    player?.addEventListener('latency', onLatency);
    return () => {
      player?.removeEventListener('latency', onLatency);
      forget();
    };
  }, [isShown, isLoaded, token]);
  return (
    <div class="preview" ref={place}>
      {isShown && isLoaded && token !== undefined ? (
        <Player {...{ 'playback-id': playbackId, query: tokenQuery(token), muted: true, controls: true }} />
      ) : (
        <div class="off">
          {isLive
            ? failure === undefined || isLoaded
              ? 'Loading the preview…'
              : sentenceOf(failure)
            : (children ?? (
                <>
                  <Icon name="streams" size={34} />
                  <span>Offline</span>
                </>
              ))}
        </div>
      )}
      {latencyS !== undefined && <span class="latency">{latencyS.toFixed(1)} s behind the camera</span>}
    </div>
  );
}

/** Whether the page is visible. A hidden page plays nothing, because browsers limit the connections to one host. */
function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const look = () => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return isVisible;
}
