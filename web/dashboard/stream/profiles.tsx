/**
 * The renditions of a stream, and what they cost before they are saved.
 */
import { useState } from 'preact/hooks';
import { change } from '../../shared/api.ts';
import { bitrate } from '../../shared/format.ts';
import type { Profile, Stream } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { FormDialog } from '../../shared/ui/dialog.tsx';
import { useForm } from '../../shared/ui/form.tsx';
import { Card, Empty, Message, Stat } from '../../shared/ui/parts.tsx';
import { type Column, DataTable } from '../../shared/ui/table.tsx';
import { toast } from '../../shared/ui/toast.tsx';
import { costOf } from '../parts/cost.ts';
import { COMMON_PROFILES } from '../parts/ladders.ts';
import { fixedWhileActive } from '../parts/stream-state.ts';
import { framesPerSecond, withFrameRate } from './frame-rate.ts';

interface Props {
  readonly stream: Stream;
  readonly forbidden: string | undefined;
  readonly onStream: (stream: Stream) => void;
}

/** The card for the renditions of a stream. */
export function Profiles({ stream, forbidden, onStream }: Props) {
  const [isEdited, setEdited] = useState(false);
  return (
    <Card
      title="Renditions"
      flush
      actions={
        <Button small icon="edit" forbidden={forbidden} onPress={() => setEdited(true)}>
          Edit
        </Button>
      }
    >
      {stream.profiles.length === 0 ? (
        <Empty icon="film" title="The source only">
          Viewers get exactly what the encoder sends. Add a smaller rendition for those on slow networks.
        </Empty>
      ) : (
        <DataTable
          caption="Renditions beside the source"
          columns={COLUMNS}
          rows={stream.profiles}
          keyOf={({ name }) => name}
          folds={false}
        />
      )}
      {isEdited && <Editor stream={stream} onStream={onStream} onClose={() => setEdited(false)} />}
    </Card>
  );
}

const COLUMNS: readonly Column<Profile>[] = [
  { name: 'Name', dir: 'auto', cell: ({ name }) => name },
  { name: 'Size', kind: 'soft', cell: ({ width, height }) => `${width}×${height}` },
  { name: 'Frame rate', kind: 'soft', cell: (profile) => rateOf(profile) },
  { name: 'Bitrate', kind: 'end', cell: (profile) => bitrate(profile.bitrate) },
];

const rateOf = (profile: Profile): string => (profile.fps === 0 ? 'as the source' : `${framesPerSecond(profile)} fps`);

function Editor({ stream, onStream, onClose }: Omit<Props, 'forbidden'> & { readonly onClose: () => void }) {
  const [profiles, setProfiles] = useState<readonly Profile[]>(stream.profiles);
  const sent = ['PATCH', `/stream/${stream.id}`, { profiles }] as const;
  const form = useForm(async () => {
    await change(...sent);
    onStream({ ...stream, profiles: [...profiles] });
    toast('Saved.');
    onClose();
  });
  const video = stream.health?.source.video;
  const cost = costOf(profiles, video);
  const before = costOf(stream.profiles, video);
  const put = (index: number, changed: Profile) =>
    setProfiles(profiles.map((profile, at) => (at === index ? changed : profile)));
  const left = COMMON_PROFILES.filter(({ name }) => !profiles.some((profile) => profile.name === name));
  return (
    <FormDialog
      title="Renditions beside the source"
      wide
      form={form}
      action="Save"
      forbidden={fixedWhileActive(stream)}
      changes={[sent]}
      onClose={onClose}
    >
      {profiles.length > 0 && (
        <div class="table-scroll">
          <table class="editor">
            <caption class="visually-hidden">Renditions</caption>
            <thead>
              <tr>
                <th>Name</th>
                <th>Width</th>
                <th>Height</th>
                <th>kbit/s</th>
                <th>fps (0: as the source)</th>
                <th>
                  <span class="visually-hidden">Remove</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {profiles.map((profile, index) => {
                const at = `rendition ${index + 1}`;
                const isWrong = form.errorOf(`profiles[${index}]`) !== undefined;
                return (
                  <tr key={index}>
                    <td>
                      <input
                        type="text"
                        aria-label={`Name of ${at}`}
                        aria-invalid={isWrong || undefined}
                        dir="auto"
                        value={profile.name}
                        onInput={(e) => put(index, { ...profile, name: e.currentTarget.value })}
                      />
                    </td>
                    {(['width', 'height'] as const).map((side) => (
                      <td key={side}>
                        <input
                          type="number"
                          aria-label={`${side} of ${at}`}
                          min={128}
                          max={8192}
                          value={profile[side]}
                          onInput={(e) => put(index, { ...profile, [side]: Number(e.currentTarget.value) })}
                        />
                      </td>
                    ))}
                    <td>
                      <DecimalInput
                        label={`Bitrate of ${at} in kbit/s`}
                        min={1}
                        max={200_000}
                        value={profile.bitrate / 1000}
                        onValue={(kbps) => put(index, { ...profile, bitrate: Math.round(kbps * 1000) })}
                      />
                    </td>
                    <td>
                      <DecimalInput
                        label={`Frames per second of ${at}`}
                        min={0}
                        max={240}
                        value={framesPerSecond(profile)}
                        onValue={(rate) => put(index, withFrameRate(profile, rate))}
                      />
                    </td>
                    <td>
                      <Button
                        kind="quiet"
                        small
                        icon="trash"
                        label={`Remove ${at}`}
                        onPress={() => setProfiles(profiles.filter((_, each) => each !== index))}
                      />
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <div class="row">
        {left.map((profile) => (
          <Button key={profile.name} small icon="plus" onPress={() => setProfiles([...profiles, profile])}>
            {profile.name}
          </Button>
        ))}
      </div>
      <dl class="stats bill">
        <Stat
          name="CPU while live"
          value={cost.cores === 0 ? 'none' : `about ${cost.cores.toFixed(1)} cores`}
          note={`now ${before.cores === 0 ? 'none' : before.cores.toFixed(1)}`}
        />
        <Stat name="Made from the source" value={bitrate(cost.bitrateBps)} note={`now ${bitrate(before.bitrateBps)}`} />
      </dl>
      {stream.isActive && <Message tone="info">{fixedWhileActive(stream)}</Message>}
    </FormDialog>
  );
}

/**
 * A field for a number that may have decimals. What is being typed is left as it is, because `29.` is 29 but not yet 29.97: browsers remove
 * the point when the value is set to 29 again.
 */
function DecimalInput({
  label,
  min,
  max,
  value,
  onValue,
}: {
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly value: number;
  readonly onValue: (value: number) => void;
}) {
  const [typed, setTyped] = useState(String(value));
  return (
    <input
      type="number"
      aria-label={label}
      min={min}
      max={max}
      step="any"
      value={Number(typed) === value ? typed : String(value)}
      onInput={(e) => {
        setTyped(e.currentTarget.value);
        onValue(Number(e.currentTarget.value));
      }}
    />
  );
}
