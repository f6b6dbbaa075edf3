/**
 * Creates a stream. Only a name is asked for; everything else can be changed later.
 */
import { useState } from 'preact/hooks';
import { change } from '../../shared/api.ts';
import { curlOf } from '../../shared/curl.ts';
import { API } from '../../shared/place.ts';
import { isAllowed } from '../../shared/rights.ts';
import { go, hrefOf } from '../../shared/router.ts';
import { signedIn } from '../../shared/session.ts';
import type { Stream } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { CopyButton } from '../../shared/ui/copy.tsx';
import { TextField, useForm } from '../../shared/ui/form.tsx';
import { Card, Failure, PageHead } from '../../shared/ui/parts.tsx';
import { costOf } from '../parts/cost.ts';
import { LADDERS } from '../parts/ladders.ts';

/** The page. */
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
          <TextField
            label="Name"
            value={name}
            onValue={setName}
            required
            maxLength={512}
            autoFocus
            error={form.errorOf('name')}
          />
          <fieldset class="choices">
            <legend>What viewers can choose from</legend>
            {LADDERS.map((each) => {
              const { cores } = costOf(each.profiles ?? []);
              return (
                <label key={each.id} class={each.id === ladder.id ? 'chosen' : ''}>
                  <input type="radio" name="ladder" checked={each.id === ladder.id} onChange={() => setLadder(each)} />
                  <span>
                    <b>{each.name}</b>
                    <small>{each.meaning}</small>
                  </span>
                  {each.profiles !== null && (
                    <small class="cost">{cores === 0 ? 'no CPU' : `about ${cores.toFixed(1)} cores`}</small>
                  )}
                </label>
              );
            })}
          </fieldset>
          {form.otherError(['name']) !== undefined && <Failure error={form.otherError(['name'])} />}
          <div class="row">
            <Button
              kind="primary"
              type="submit"
              busy={form.isBusy}
              forbidden={mayCreate ? undefined : 'The rules of your API key do not allow you to create streams.'}
            >
              Create the stream
            </Button>
            <CopyButton
              text={() => curlOf(API, 'POST', '/stream', body)}
              what="this as a curl command"
              words="Copy as curl"
            />
          </div>
        </form>
      </Card>
    </>
  );
}
