/**
 * Shows how viewers get to a stream: the URL, a link, and a QR code for phones.
 */
import { useState } from 'preact/hooks';
import { ROOT } from '../../shared/place.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { CopyField } from '../../shared/ui/copy.tsx';
import { Qr } from './connect.tsx';

/** The address of the page for viewers. */
export const watchUrl = (playbackId: string): string => new URL(`play/${playbackId}`, ROOT).href;

/** The page for viewers. @param props.name of its address */
export function Watch({ name, playbackId }: { readonly name: string; readonly playbackId: string }) {
  const [isQrShown, setQrShown] = useState(false);
  const url = watchUrl(playbackId);
  return (
    <>
      <CopyField name={name} value={url} />
      <div class="row">
        <ButtonLink href={url} icon="play" small outside>
          Watch
        </ButtonLink>
        <Button icon="phone" small onPress={() => setQrShown(true)}>
          QR code
        </Button>
      </div>
      {isQrShown && <Qr title="Scan to watch" text={url} onClose={() => setQrShown(false)} />}
    </>
  );
}
