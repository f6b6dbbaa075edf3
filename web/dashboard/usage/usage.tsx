/**
 * The usage, by day, by stream and by user.
 */
import { useEffect, useState } from 'preact/hooks';
import { get, send } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { bytes, count, date } from '../../shared/format.ts';
import { serverNow } from '../../shared/server-clock.ts';
import { signedIn } from '../../shared/session.ts';
import type { UsageMetric, UsageSum, User } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Tabs } from '../../shared/ui/choice.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Card, Empty, PageHead, Stat } from '../../shared/ui/parts.tsx';
import { type Column, DataTable } from '../../shared/ui/table.tsx';
import { StreamName } from '../parts/stream-name.tsx';
import { DAY_MS, dayRows, minutesWords, totalOf } from './sums.ts';
import { wholeSpan } from './whole-span.ts';

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
const REFRESH = { everyMs: 60_000 };
/** How often the lists by stream and by user are read, which takes many requests at a server with many streams. */
const LISTS = { everyMs: 600_000 };
const KEPT_MS = 60_000;
const GIB = 2 ** 30;

/** The page with the usage. */
export function Usage() {
  const [days, setDays] = useState<(typeof SPANS)[number][0]>('30');
  const [whose, setWhose] = useState<(typeof WHOSE)[number][0]>('mine');
  const from = (useToday() - Number(days) + 1) * DAY_MS;
  const scope = whose === 'all' ? '&all=1' : '';
  const path = `/data/usage?from=${from}${scope}`;
  /** Reads all entries, in several requests if necessary. */
  const all = <Entry,>(query: string, read: (path: string) => Promise<readonly Entry[]>) =>
    wholeSpan(from, from + Number(days) * DAY_MS, (begin, end) =>
      read(`/data/usage?from=${begin}&to=${end}${scope}${query}`),
    );
  const byDay = useData(`usage ${path}`, (signal) => get<readonly UsageSum[]>(path, { signal }), REFRESH);
  /** The streams that delivered the most bytes, or the users who own them. */
  const topOf = async (by: 'stream' | 'user', signal: AbortSignal) => {
    const sums = await all(`&by=${by}&step=week`, (each) => get<readonly UsageSum[]>(each, { signal }));
    return dayRows(sums, (sum) => sum[`${by}Id`] ?? '')
      .toSorted((a, b) => b.deliveredBytes - a.deliveredBytes || b.ingestBytes - a.ingestBytes)
      .slice(0, TOP);
  };
  const byStream = useData(`usage by stream ${path}`, (signal) => topOf('stream', signal), LISTS);
  const byUser = useData(
    `usage by user ${path}`,
    async (signal) => (whose === 'all' ? await topOf('user', signal) : []),
    LISTS,
  );
  const stored = useData(
    'stored',
    async (signal) => {
      const [metric, me] = await Promise.all([
        get<UsageMetric>('/data/usage/query', { signal }),
        get<User>('/user/me', { signal }),
      ]);
      return { minutes: metric.StorageUsageMins ?? 0, bytes: (me.usage?.recordingGib ?? 0) * GIB };
    },
    REFRESH,
  );
  const download = async () => {
    let head = '';
    const lines = await all('&by=stream&format=csv', async (each) => {
      const text = await (await send('GET', each)).text();
      const [first = '', ...rest] = text.trimEnd().split(/\r?\n/);
      head = first;
      return rest;
    });
    const link = Object.assign(document.createElement('a'), {
      href: URL.createObjectURL(new Blob([[head, ...lines, ''].join('\r\n')], { type: 'text/csv' })),
      download: 'usage.csv',
    });
    link.click();
    // Safari reads the file some time after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
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
        What came in, what was made of it, and what viewers got, live and recorded. Numbers are up to a minute old.
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
              <Stat
                name="Delivered"
                value={bytes(total.deliveredBytes)}
                note="including recordings, without what caches sent"
              />
              <Stat name="Watched" value={minutesWords(total.watchedMinutes)} note={count(total.views, 'view')} />
              {whose === 'mine' && stored.value !== undefined && (
                <Stat name="Stored now" value={minutesWords(stored.value.minutes)} note={bytes(stored.value.bytes)} />
              )}
            </dl>
          </Card>
          <Card title="By day" flush>
            <DataTable
              caption="Usage by day, in UTC"
              columns={[
                { name: 'Day', cell: ({ from }) => date(from, 'UTC') },
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
          {byStream.error !== undefined && <Waiting data={byStream} />}
          {byStream.value !== undefined && byStream.value.length > 0 && (
            <Card title="By stream" flush note="Those that delivered most.">
              <DataTable
                caption="Usage by stream"
                columns={streamColumns(whose === 'all')}
                rows={byStream.value}
                keyOf={({ streamId }) => streamId}
              />
            </Card>
          )}
          {byUser.error !== undefined && <Waiting data={byUser} />}
          {byUser.value !== undefined && byUser.value.length > 0 && (
            <Card title="By user" flush note="Those whose streams delivered most.">
              <DataTable
                caption="Usage by user"
                columns={USER_COLUMNS}
                rows={byUser.value}
                keyOf={({ userId }) => userId}
              />
            </Card>
          )}
        </>
      )}
    </>
  );
}

/** The number of the day by the server's clock, in UTC. A page may still be open when a new day begins. */
function useToday(): number {
  const [today, setToday] = useState(() => Math.floor(serverNow() / DAY_MS));
  useEffect(() => {
    const timer = setInterval(() => setToday(Math.floor(serverNow() / DAY_MS)), REFRESH.everyMs);
    return () => clearInterval(timer);
  }, []);
  return today;
}

const COUNT_COLUMNS: readonly Column<UsageSum>[] = [
  { name: 'Received', cell: ({ ingestMinutes }) => minutesWords(ingestMinutes) },
  { name: 'Watched', cell: ({ watchedMinutes }) => minutesWords(watchedMinutes) },
  { name: 'Views', cell: ({ views }) => views },
  { name: 'Delivered', kind: 'end', cell: ({ deliveredBytes }) => bytes(deliveredBytes) },
];

const streamColumns = (isAnybodys: boolean): readonly Column<UsageSum>[] => [
  { name: 'Stream', cell: ({ streamId = '' }) => <StreamName id={streamId} isAnybodys={isAnybodys} /> },
  ...COUNT_COLUMNS,
];

const USER_COLUMNS: readonly Column<UsageSum>[] = [
  { name: 'User', cell: ({ userId = '' }) => <UserName id={userId} /> },
  ...COUNT_COLUMNS,
];

function UserName({ id }: { readonly id: string }) {
  const user = useData(`user ${id}`, (signal) => get<User>(`/user/${id}`, { signal }));
  return user.value === undefined ? <code class="small">{id}</code> : <bdi class="strong">{user.value.name}</bdi>;
}
