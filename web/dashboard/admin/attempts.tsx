/**
 * Encoders that were refused, on the whole server.
 */
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { sentence } from '../../shared/format.ts';
import { hrefOf } from '../../shared/router.ts';
import type { Attempt } from '../../shared/types.ts';
import { Ago, Card, Empty, Failure, Loading } from '../../shared/ui/parts.tsx';
import { encoderTitle } from '../parts/encoder-name.ts';

const EVERY_MS = 5000;

/** The card. */
export function Attempts() {
  const attempts = useData('attempts', (signal) => get<readonly Attempt[]>('/attempt?all=1', { signal }), {
    everyMs: EVERY_MS,
  });
  const rows = attempts.value;
  return (
    <Card
      title="Encoders that were refused"
      flush
      note="The last day on this server, the latest first. Keys are never shown."
    >
      {attempts.error !== undefined && <Failure error={attempts.error} again={attempts.reload} />}
      {rows === undefined && attempts.error === undefined && <Loading />}
      {rows?.length === 0 && (
        <Empty icon="check" title="None was refused">
          An encoder with a wrong key, an unknown codec or a suspended stream appears here with the reason.
        </Empty>
      )}
      {rows !== undefined && rows.length > 0 && (
        <div class="table-scroll folds">
          <table>
            <caption class="visually-hidden">Refused encoders</caption>
            <thead>
              <tr>
                <th>Encoder</th>
                <th>From</th>
                <th>Why</th>
                <th>Times</th>
                <th>Last</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((attempt, index) => (
                <tr key={index}>
                  <td dir="auto">{encoderTitle(attempt.encoder)}</td>
                  <td data-name="From" class="soft">
                    {attempt.address}
                  </td>
                  <td data-name="Why">
                    {sentence(attempt.message)}{' '}
                    {attempt.streamId !== undefined && (
                      <a href={hrefOf(`/streams/${attempt.streamId}`)}>Open the stream</a>
                    )}
                  </td>
                  <td data-name="Times">{attempt.count}</td>
                  <td data-name="Last" class="soft">
                    <Ago at={attempt.lastAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
