/**
 * Encoders that were refused, on the whole server.
 */
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { sentence } from '../../shared/format.ts';
import type { Attempt } from '../../shared/types.ts';
import { ListCard } from '../../shared/ui/list.tsx';
import { Ago, Empty } from '../../shared/ui/parts.tsx';
import type { Column } from '../../shared/ui/table.tsx';
import { encoderTitle } from '../parts/encoder-name.ts';
import { StreamName } from '../parts/stream-name.tsx';

const EVERY_MS = 5000;

/** The card with the refused encoders. */
export function Attempts() {
  const attempts = useData('attempts', (signal) => get<readonly Attempt[]>('/attempt?all=1', { signal }), {
    everyMs: EVERY_MS,
  });
  return (
    <ListCard
      title="Encoders that were refused"
      note="The last day on this server, the latest first. Keys are never shown."
      data={attempts}
      empty={
        <Empty icon="check" title="None was refused">
          An encoder with a wrong key, an unknown codec or a suspended stream appears here with the reason.
        </Empty>
      }
      caption="Refused encoders"
      columns={COLUMNS}
      keyOf={({ firstAt, address, reason, streamId }) => `${firstAt} ${address} ${reason} ${streamId}`}
    />
  );
}

const COLUMNS: readonly Column<Attempt>[] = [
  { name: 'Encoder', dir: 'auto', cell: ({ encoder }) => encoderTitle(encoder) },
  { name: 'From', kind: 'soft', cell: ({ address }) => address },
  { name: 'Stream', cell: ({ streamId }) => streamId !== undefined && <StreamName id={streamId} isAnybodys /> },
  { name: 'Why', cell: ({ message }) => sentence(message) },
  { name: 'Times', cell: ({ count }) => count },
  { name: 'Last', kind: 'soft', cell: ({ lastAt }) => <Ago at={lastAt} /> },
];
