/**
 * Creates a stream. Only a name is asked for; everything else can be changed later.
 */
import { useState } from 'preact/hooks';
import { change } from '../../shared/api.ts';
import { isAllowed } from '../../shared/rights.ts';
import { go, hrefOf } from '../../shared/router.ts';
import { signedIn } from '../../shared/session.ts';
import type { Profile, Stream } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Choices } from '../../shared/ui/choice.tsx';
import { CopyCurl } from '../../shared/ui/copy.tsx';
import { FormFailure, NameField, useForm } from '../../shared/ui/form.tsx';
import { Card, PageHead } from '../../shared/ui/parts.tsx';
import { costOf } from '../parts/cost.ts';
import { LADDERS } from '../parts/ladders.ts';

/** The page that creates a stream. */
export function FirstRun() {
  const [name, setName] = useState('My first stream');
  const [ladder, setLadder] = useState(LADDERS[0]!);
  const body = { name, ...(ladder.profiles !== null && { profiles: ladder.profiles }) };
  const form = useForm(async () => {
    const stream = await change<Stream>('POST', '/stream', body);
    go(`/streams/${stream.id}/start`);
  });
  const mayCreate = isAllowed(signedIn.value?.key?.access?.rules, 'POST', '/stream');
  return (
    <>
      <PageHead title="Create a stream" back={{ href: hrefOf('/streams'), name: 'Streams' }}>
        A stream is a place to publish to again and again. It has a secret key for your encoder, and a public address
        for viewers.
      </PageHead>
      <Card>
        <form onSubmit={form.submit} class="narrow">
          <NameField form={form} value={name} onValue={setName} />
          <Choices
            name="ladder"
            legend="What viewers can choose from"
            options={LADDERS}
            chosen={ladder.id}
            onChoose={setLadder}
            note={({ profiles }) => profiles !== null && <small class="cost">{costWords(profiles)}</small>}
          />
          <FormFailure form={form} fields={['name']} />
          <div class="row">
            <Button
              kind="primary"
              type="submit"
              busy={form.isBusy}
              forbidden={mayCreate ? undefined : 'The rules of your API key do not allow you to create streams.'}
            >
              Create the stream
            </Button>
            <CopyCurl changes={[['POST', '/stream', body]]} />
          </div>
        </form>
      </Card>
    </>
  );
}

function costWords(profiles: readonly Profile[]): string {
  const { cores } = costOf(profiles);
  return cores === 0 ? 'no CPU' : `about ${cores.toFixed(1)} cores`;
}
