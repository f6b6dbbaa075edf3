/**
 * Shows how viewers get to a stream, and how to embed its player.
 */
import { ROOT } from '../../shared/place.ts';
import type { Stream } from '../../shared/types.ts';
import { CopyButton, CopyField } from '../../shared/ui/copy.tsx';
import { Card } from '../../shared/ui/parts.tsx';
import { Watch, watchUrl } from '../parts/watch.tsx';

/** The card for sharing a stream. */
export function ShareCard({ stream }: { readonly stream: Stream }) {
  const { playbackId } = stream;
  const frame = `<iframe src="${watchUrl(playbackId)}?embed" allow="autoplay; fullscreen" style="width:100%;aspect-ratio:16/9;border:0"></iframe>`;
  return (
    <Card title="Share and embed">
      <div class="stack tight">
        <Watch name="Page for viewers" stream={stream} />
        <span class="hint">Embed it in your own page:</span>
        <div class="code-block" dir="ltr">
          <pre>{frame}</pre>
          <CopyButton text={frame} what="the embed code" />
        </div>
        <CopyField
          name="Address for players"
          value={new URL(`hls/${playbackId}/index.m3u8`, ROOT).href}
          hint="For hls.js, VLC, Safari and other HLS players."
        />
      </div>
    </Card>
  );
}
