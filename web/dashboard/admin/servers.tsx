/**
 * The servers that share the database.
 */
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { bytes, duration } from '../../shared/format.ts';
import type { ServiceNode } from '../../shared/types.ts';
import { ListCard } from '../../shared/ui/list.tsx';
import { Badge } from '../../shared/ui/parts.tsx';
import type { Column } from '../../shared/ui/table.tsx';

const EVERY_MS = 5000;

/** The card with the servers. */
export function Servers() {
  const nodes = useData('nodes', (signal) => get<readonly ServiceNode[]>('/admin/nodes', { signal }), {
    everyMs: EVERY_MS,
  });
  return (
    <ListCard
      title="Servers"
      note="All servers on this database. The load is shown only for the server that answers you."
      data={nodes}
      caption="Servers"
      columns={COLUMNS}
    />
  );
}

const COLUMNS: readonly Column<ServiceNode>[] = [
  {
    name: 'Server',
    cell: ({ id, url, isThis }) => (
      <>
        <span class="mono">{url ?? id}</span> {isThis && <Badge tone="ok">answers you</Badge>}
      </>
    ),
  },
  {
    name: 'State',
    cell: ({ isAlive, leaseLeft }) => (
      <>
        <Badge tone={isAlive ? 'ok' : 'bad'}>{isAlive ? 'Alive' : 'Lost'}</Badge>
        {leaseLeft !== undefined && isAlive && <span class="soft"> its lease lasts {duration(leaseLeft)}</span>}
      </>
    ),
  },
  { name: 'Sessions', cell: ({ sessions }) => sessions },
  { name: 'Publishers', cell: ({ publishers }) => publishers },
  {
    name: 'Load',
    cell: ({ load }) =>
      load === undefined ? (
        <span class="soft">not known here</span>
      ) : (
        `${load.busyCores.toFixed(1)} of ${load.cores} cores, ${bytes(load.memory)}`
      ),
  },
  { name: 'Up for', kind: 'soft', cell: ({ load }) => (load === undefined ? '–' : duration(load.uptime)) },
];
