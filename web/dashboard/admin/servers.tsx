/**
 * The servers that share the database.
 */
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { bytes, duration } from '../../shared/format.ts';
import type { ServiceNode } from '../../shared/types.ts';
import { Badge, Card, Failure, Loading } from '../../shared/ui/parts.tsx';

const EVERY_MS = 5000;

/** The card. */
export function Servers() {
  const nodes = useData('nodes', (signal) => get<readonly ServiceNode[]>('/admin/nodes', { signal }), {
    everyMs: EVERY_MS,
  });
  const rows = nodes.value;
  return (
    <Card title="Servers" flush note="Every server on this database. The load is known of the one that answers you.">
      {nodes.error !== undefined && <Failure error={nodes.error} again={nodes.reload} />}
      {rows === undefined && nodes.error === undefined && <Loading />}
      {rows !== undefined && (
        <div class="table-scroll folds">
          <table>
            <caption class="visually-hidden">Servers</caption>
            <thead>
              <tr>
                <th>Server</th>
                <th>State</th>
                <th>Sessions</th>
                <th>Publishers</th>
                <th>Load</th>
                <th>Up for</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ id, url, isThis, isAlive, leaseLeft, sessions, publishers, load }) => (
                <tr key={id}>
                  <td>
                    <span class="mono">{url ?? id}</span> {isThis && <Badge tone="ok">answers you</Badge>}
                  </td>
                  <td data-name="State">
                    <Badge tone={isAlive ? 'ok' : 'bad'}>{isAlive ? 'Alive' : 'Lost'}</Badge>
                    {leaseLeft !== undefined && isAlive && (
                      <span class="soft"> its lease lasts {duration(leaseLeft)}</span>
                    )}
                  </td>
                  <td data-name="Sessions">{sessions}</td>
                  <td data-name="Publishers">{publishers}</td>
                  <td data-name="Load" class={load === undefined ? 'soft' : ''}>
                    {load === undefined
                      ? 'not known here'
                      : `${load.busyCores.toFixed(1)} of ${load.cores} cores, ${bytes(load.memory)}`}
                  </td>
                  <td data-name="Up for" class="soft">
                    {load === undefined ? '–' : duration(load.uptime)}
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
