/**
 * How viewers get to a stream.
 */
import { useState } from 'preact/hooks';
import { ROOT } from '../../shared/place.ts';
import type { Stream } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { CopyButton, CopyField } from '../../shared/ui/copy.tsx';
import { Card } from '../../shared/ui/parts.tsx';
import { Qr } from '../parts/connect.tsx';

/** The card. */
export function ShareCard({ stream: { playbackId } }: { readonly stream: Stream }) {
  const [isQrShown, setQrShown] = useState(false);
  const page = new URL(`play/${playbackId}`, ROOT).href;
  const frame = `<iframe src="${page}?embed" allow="autoplay; fullscreen" style="width:100%;aspect-ratio:16/9;border:0"></iframe>`;
  return (
    <Card title="Share and embed">
      <div class="stack tight">
        <CopyField name="Page for viewers" value={page} />
        <div class="row">
          <ButtonLink href={page} icon="play" small outside>
            Watch
          </ButtonLink>
          <Button icon="phone" small onPress={() => setQrShown(true)}>
            QR code
          </Button>
        </div>
        <span class="hint">Embed it in a page of yours:</span>
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
      {isQrShown && <Qr title="Scan to watch" text={page} onClose={() => setQrShown(false)} />}
    </Card>
  );
}
