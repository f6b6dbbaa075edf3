/**
 * The health of a session over time.
 */
import { useMemo } from 'preact/hooks';
import { get, list } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { bitrate } from '../../shared/format.ts';
import type { Samples, ServiceEvent } from '../../shared/types.ts';
import { Waiting } from '../../shared/ui/list.tsx';
import { Badge, Card, Empty } from '../../shared/ui/parts.tsx';
import { Plot } from './plot.tsx';
import { columnsOf, measures, uplinkWords } from './series.ts';

const EVERY_MS = 5000;
const MEASURES = measures(bitrate);

/** The card with the plots of a session. @param props.isLive whether new samples come */
export function SessionPlots({
  sessionId,
  streamId,
  isLive,
}: {
  readonly sessionId: string;
  readonly streamId: string;
  readonly isLive: boolean;
}) {
  const data = useData(`samples ${sessionId}`, (signal) => get<Samples>(`/session/${sessionId}/samples`, { signal }), {
    everyMs: isLive ? EVERY_MS : undefined,
  });
  const from = data.value?.samples[0]?.time;
  const warnings = useData(
    `warnings ${streamId} ${from === undefined}`,
    async (signal) =>
      from === undefined
        ? []
        : (
            await list<ServiceEvent>(`/event?streamId=${streamId}&type=session.warning&from=${from}&limit=100`, {
              signal,
            })
          ).rows,
    { on: (event) => event.streamId === streamId && event.type === 'session.warning' },
  );
  const { value } = data;
  const plots = useMemo(
    () => value && MEASURES.map((measure) => ({ measure, columns: columnsOf(value, measure) })),
    [value],
  );
  const marks = useMemo(() => (warnings.value ?? []).map(({ createdAt }) => ({ at: createdAt })), [warnings.value]);
  const uplink = isLive && value ? uplinkWords(value.samples) : undefined;
  const shown = plots?.filter(({ columns }) => columns.values.some((each) => each !== null)) ?? [];
  return (
    <Card
      title="Over time"
      actions={
        uplink && (
          <Badge tone={uplink.isBad ? 'warn' : 'ok'}>{uplink.isBad ? 'Uplink too slow' : 'Uplink keeps up'}</Badge>
        )
      }
      note={
        uplink?.text ??
        (value?.step === 60
          ? 'One sample a minute. Dashed lines are warnings.'
          : 'One sample every five seconds, for the last 15 minutes. Dashed lines are warnings.')
      }
    >
      {(value === undefined || data.error !== undefined) && <Waiting data={data} lines={5} />}
      {value !== undefined && shown.length === 0 && (
        <Empty icon="chart" title={isLive ? 'The first sample comes in a few seconds' : 'Nothing was measured'}>
          {isLive ? undefined : 'The session was too short, or an earlier version of the server ran it.'}
        </Empty>
      )}
      {shown.length > 0 && (
        <div class="plots">
          {shown.map(({ measure, columns }) => (
            <Plot key={measure.id} measure={measure} columns={columns} marks={marks} />
          ))}
        </div>
      )}
    </Card>
  );
}
