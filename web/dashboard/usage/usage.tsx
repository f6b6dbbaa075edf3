/**
 * The usage, by day and by stream.
 */
import { useState } from 'preact/hooks';
import { get, send, serverNow } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { bytes, count, date } from '../../shared/format.ts';
import { signedIn } from '../../shared/session.ts';
import type { Stream, UsageSum } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Tabs } from '../../shared/ui/choice.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Card, Empty, PageHead, Stat } from '../../shared/ui/parts.tsx';
import { type Column, DataTable, NameLink } from '../../shared/ui/table.tsx';
import { DAY_MS, dayRows, minutesWords, totalOf } from './sums.ts';

const SPANS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;
const WHOSE = [
  ['mine', 'Mine'],
  ['all', 'All users'],
] as const;
const TOP = 20;

/** The page with the usage. */
export function Usage() {
  const [days, setDays] = useState<(typeof SPANS)[number][0]>('30');
  const [whose, setWhose] = useState<(typeof WHOSE)[number][0]>('mine');
  const [openedAt] = useState(serverNow);
  const from = Math.floor(openedAt / DAY_MS) * DAY_MS - (Number(days) - 1) * DAY_MS;
  const scope = whose === 'all' ? '&all=1' : '';
  const path = `/data/usage?from=${from}${scope}`;
  const byDay = useData(`usage ${path}`, (signal) => get<readonly UsageSum[]>(path, { signal }), { everyMs: 60_000 });
  const byStream = useData(`usage by stream ${path}`, async (signal) => {
    const sums = await get<readonly UsageSum[]>(`${path}&by=stream&step=week`, { signal });
    return dayRows(sums, ({ streamId }) => streamId ?? '')
      .toSorted((a, b) => b.deliveredBytes - a.deliveredBytes || b.ingestBytes - a.ingestBytes)
      .slice(0, TOP);
  });
  const download = async () => {
    const response = await send('GET', `${path}&by=stream&format=csv`);
    const link = Object.assign(document.createElement('a'), {
      href: URL.createObjectURL(await response.blob()),
      download: 'usage.csv',
    });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const rows = byDay.value;
  const total = rows && totalOf(rows);
  const most = Math.max(1, ...(rows ?? []).map(({ deliveredBytes }) => deliveredBytes));
  return (
    <>
      <PageHead
        title="Usage"
        actions={
          <Button icon="download" onPress={download}>
            Download as CSV
          </Button>
        }
      >
        What came in, what was made of it, and what viewers got. Numbers are up to a minute old.
      </PageHead>
      <div class="row">
        <Tabs label="Time" options={SPANS} chosen={days} onChoose={setDays} />
        {signedIn.value?.user.isAdmin && <Tabs label="Whose" options={WHOSE} chosen={whose} onChoose={setWhose} />}
      </div>
      {(rows === undefined || byDay.error !== undefined) && <Waiting data={byDay} lines={6} />}
      {rows?.length === 0 && (
        <Card>
          <Empty icon="chart" title="Nothing was used in this time">
            Minutes and bytes appear here a minute after a stream was live.
          </Empty>
        </Card>
      )}
      {rows !== undefined && total !== undefined && rows.length > 0 && (
        <>
          <Card title="Together">
            <dl class="stats">
              <Stat name="Received" value={minutesWords(total.ingestMinutes)} note={bytes(total.ingestBytes)} />
              <Stat
                name="Transcoded"
                value={minutesWords(total.transcodedMinutes)}
                note={bytes(total.transcodedBytes)}
              />
              <Stat name="Delivered" value={bytes(total.deliveredBytes)} note="without what caches sent" />
              <Stat name="Watched" value={minutesWords(total.watchedMinutes)} note={count(total.views, 'view')} />
            </dl>
          </Card>
          <Card title="By day" flush>
            <DataTable
              caption="Usage by day, in UTC"
              columns={[
                { name: 'Day', cell: ({ from }) => date(from) },
                { name: 'Received', cell: ({ ingestMinutes }) => minutesWords(ingestMinutes) },
                { name: 'Transcoded', cell: ({ transcodedMinutes }) => minutesWords(transcodedMinutes) },
                { name: 'Watched', cell: ({ watchedMinutes }) => minutesWords(watchedMinutes) },
                { name: 'Views', cell: ({ views }) => views },
                {
                  name: 'Delivered',
                  cell: ({ deliveredBytes }) => (
                    <span class="amount">
                      <span class="bar" style={{ inlineSize: `${(100 * deliveredBytes) / most}%` }} />
                      <span>{bytes(deliveredBytes)}</span>
                    </span>
                  ),
                },
              ]}
              rows={rows.toReversed()}
              keyOf={({ from }) => from}
            />
          </Card>
          {byStream.value !== undefined && byStream.value.length > 0 && (
            <Card title="By stream" flush note="Those that delivered most.">
              <DataTable
                caption="Usage by stream"
                columns={STREAM_COLUMNS}
                rows={byStream.value}
                keyOf={({ streamId }) => streamId}
              />
            </Card>
          )}
        </>
      )}
    </>
  );
}

const STREAM_COLUMNS: readonly Column<UsageSum>[] = [
  { name: 'Stream', cell: ({ streamId = '' }) => <StreamName id={streamId} /> },
  { name: 'Received', cell: ({ ingestMinutes }) => minutesWords(ingestMinutes) },
  { name: 'Watched', cell: ({ watchedMinutes }) => minutesWords(watchedMinutes) },
  { name: 'Views', cell: ({ views }) => views },
  { name: 'Delivered', kind: 'end', cell: ({ deliveredBytes }) => bytes(deliveredBytes) },
];

/** The name of a stream; its id when it was deleted. */
function StreamName({ id }: { readonly id: string }) {
  const stream = useData(`name ${id}`, (signal) => get<Stream>(`/stream/${id}`, { signal }));
  if (stream.value === undefined) return <code class="small">{id}</code>;
  return <NameLink to={`/streams/${id}`}>{stream.value.name}</NameLink>;
}
