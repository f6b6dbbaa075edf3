/**
 * Starts and stops the test picture of a stream, for which no encoder is needed.
 */
import type { Stream } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { changeNow } from '../../shared/ui/copy.tsx';
import { Card } from '../../shared/ui/parts.tsx';

/** The encoder name that the server gives its test picture. */
const ENCODER = /test picture/i;

/** The button and its explanation. Nothing while an encoder is live. */
export function TestPicture({ stream }: { readonly stream: Stream }) {
  const path = `/stream/${stream.id}/test-picture`;
  if (stream.isActive && !ENCODER.test(stream.health?.encoder ?? '')) return null;
  const send = () => changeNow('The test picture is on its way.', 'POST', path);
  const stop = () => changeNow('The test picture is stopped.', 'DELETE', path);
  return stream.isActive ? (
    <Card title="This is the test picture">
      <div class="row spread">
        <p class="soft">The server sends it for a minute. An encoder of yours may take its place at any moment.</p>
        <Button icon="stop" onPress={stop}>
          Stop the test picture
        </Button>
      </div>
    </Card>
  ) : (
    <Card title="No encoder at hand?">
      <div class="row spread">
        <p class="soft">The server can send a moving picture with a clock and a tone for a minute.</p>
        <Button icon="film" onPress={send}>
          Send a test picture
        </Button>
      </div>
    </Card>
  );
}
