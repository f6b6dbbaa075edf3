/**
 * All events of a stream, newest first.
 */
import { usePages } from '../../shared/data.ts';
import { dateTime } from '../../shared/format.ts';
import type { ServiceEvent } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { CopyButton } from '../../shared/ui/copy.tsx';
import { Loaded } from '../../shared/ui/list.tsx';
import { Ago, Card, Empty } from '../../shared/ui/parts.tsx';
import { eventWords } from './event-words.ts';
import { MomentLink, useRecorded } from './moment-link.tsx';

/** The card with the events of a stream. @param props.from the first time that is shown, in milliseconds @param props.to the last one */
export function Timeline({
  streamId,
  from,
  to,
}: {
  readonly streamId: string;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}) {
  const bounds = (from === undefined ? '' : `&from=${from}`) + (to === undefined ? '' : `&to=${to}`);
  const events = usePages<ServiceEvent>(`/event?streamId=${streamId}&limit=25${bounds}`, {
    on: (event) => event.streamId === streamId,
  });
  const recorded = useRecorded(streamId);
  const rows = events.value ?? [];
  const report = () => rows.map((event) => `${dateTime(event.createdAt)}  ${eventWords(event).text}`).join('\n');
  return (
    <Card
      title="What happened"
      actions={rows.length > 0 && <CopyButton text={report} what="the report" words="Copy report" />}
    >
      {events.hasPrevious && (
        <div class="row center">
          <Button small onPress={events.previous}>
            Show previous
          </Button>
        </div>
      )}
      <Loaded data={events}>
        {(shown) =>
          shown.length === 0 ? (
            <Empty icon="history" title="Nothing yet" />
          ) : (
            <ol class="timeline">
              {shown.map((event) => {
                const { text, tone } = eventWords(event);
                return (
                  <li key={event.id} class={tone}>
                    <span class="at">
                      <Ago at={event.createdAt} />
                    </span>
                    <span>
                      <bdi>{text}</bdi>
                      <MomentLink event={event} text={text} recorded={recorded} />
                    </span>
                  </li>
                );
              })}
            </ol>
          )
        }
      </Loaded>
      {events.hasMore && (
        <div class="row center">
          <Button small onPress={events.more}>
            Show more
          </Button>
        </div>
      )}
    </Card>
  );
}
