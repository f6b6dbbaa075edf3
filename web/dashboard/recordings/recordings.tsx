/**
 * Recordings and clips.
 */
import { usePages } from '../../shared/data.ts';
import { bytes, duration } from '../../shared/format.ts';
import { hrefOf } from '../../shared/router.ts';
import type { Asset } from '../../shared/types.ts';
import { ButtonLink } from '../../shared/ui/button.tsx';
import { ListCard } from '../../shared/ui/list.tsx';
import { Ago, Badge, Empty, PageHead } from '../../shared/ui/parts.tsx';
import { type Column, NameLink } from '../../shared/ui/table.tsx';

/** The page with all recordings and clips. */
export function Recordings() {
  const assets = usePages<Asset>('/asset?limit=50', {
    everyMs: 15_000,
    on: ({ type }) => /^(asset|recording|clip)\./.test(type),
  });
  return (
    <>
      <PageHead title="Recordings">
        Sessions of streams that are recorded, and clips of them. Both can be watched while the stream is still live.
      </PageHead>
      <ListCard
        data={assets}
        lines={5}
        empty={
          <Empty
            icon="film"
            title="Nothing is recorded yet"
            action={<ButtonLink href={hrefOf('/streams')}>Open your streams</ButtonLink>}
          >
            Turn on “Record its sessions” on a stream (More actions → Edit the name). Its next session is recorded from
            the first frame.
          </Empty>
        }
        caption="Recordings and clips"
        columns={COLUMNS}
      />
    </>
  );
}

const NAME: Column<Asset> = {
  name: 'Name',
  cell: ({ id, name }) => <NameLink to={`/recordings/${id}`}>{name}</NameLink>,
};
const LENGTH: Column<Asset> = {
  name: 'Length',
  cell: ({ videoSpec }) => (videoSpec ? duration(videoSpec.duration) : '–'),
};
const SIZE: Column<Asset> = { name: 'Size', kind: 'end', cell: ({ size }) => (size === undefined ? '–' : bytes(size)) };

const COLUMNS: readonly Column<Asset>[] = [
  NAME,
  { name: 'What', cell: ({ source }) => (source.type === 'clip' ? 'Clip' : 'Recording') },
  { name: 'State', cell: (asset) => <AssetState asset={asset} /> },
  LENGTH,
  { name: 'Made', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  SIZE,
];

/** The columns of a recording's clips. */
export const CLIP_COLUMNS = [NAME, LENGTH, SIZE] as const;

const PHASES = {
  waiting: ['live', 'Recording now'],
  processing: ['plain', 'Being completed'],
  ready: ['ok', 'Ready'],
  failed: ['bad', 'Failed'],
  deleting: ['plain', 'Being deleted'],
  deleted: ['plain', 'Deleted'],
} as const;

/** The state of a recording or clip. */
export function AssetState({ asset: { status } }: { readonly asset: Asset }) {
  const [tone, word] = PHASES[status.phase];
  return (
    <Badge tone={tone} dot={status.phase === 'waiting'}>
      {word}
    </Badge>
  );
}
