/**
 * Shows how viewers get to a stream: the URL, a link, and a QR code for phones.
 */
import { useState } from 'preact/hooks';
import { needsToken, useOwnerToken, withToken } from '../../shared/owner-token.ts';
import { ROOT } from '../../shared/place.ts';
import type { Stream } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { CopyField } from '../../shared/ui/copy.tsx';
import { Qr } from './connect.tsx';

/** The address of the page for viewers. */
export const watchUrl = (playbackId: string): string => new URL(`play/${playbackId}`, ROOT).href;

/** The page for viewers. @param props.name of its address */
export function Watch({
  name,
  stream: { id, playbackId, playbackPolicy },
}: {
  readonly name: string;
  readonly stream: Pick<Stream, 'id' | 'playbackId' | 'playbackPolicy'>;
}) {
  const isPublic = !needsToken(playbackPolicy);
  const token = useOwnerToken(`/stream/${id}`, !isPublic);
  const [isQrShown, setQrShown] = useState(false);
  const url = watchUrl(playbackId);
  return (
    <>
      <CopyField
        name={name}
        value={url}
        {...(!isPublic && {
          hint: 'Viewers also need a token or access key from you. You watch with a token of your own.',
        })}
      />
      <div class="row">
        <ButtonLink href={withToken(url, token)} icon="play" small outside>
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
