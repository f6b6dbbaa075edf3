/**
 * Recordings and clips.
 */
import { usePages } from '../../shared/data.ts';
import { bytes, duration } from '../../shared/format.ts';
import { hrefOf } from '../../shared/router.ts';
import type { Asset } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { Ago, Badge, Card, Empty, Failure, Loading, PageHead } from '../../shared/ui/parts.tsx';

/** The page. */
export function Recordings() {
  const assets = usePages<Asset>('/asset?limit=50', {
    everyMs: 15_000,
    on: ({ type }) => /^(asset|recording|clip)\./.test(type),
  });
  const rows = assets.value;
  return (
    <>
      <PageHead title="Recordings">
        Sessions of streams that are recorded, and clips of them. Both can be watched while the stream is still live.
      </PageHead>
      <Card flush>
        {assets.error !== undefined && <Failure error={assets.error} again={assets.reload} />}
        {rows === undefined && assets.error === undefined && <Loading lines={5} />}
        {rows?.length === 0 && (
          <Empty
            icon="film"
            title="Nothing is recorded yet"
            action={<ButtonLink href={hrefOf('/streams')}>Open your streams</ButtonLink>}
          >
            Turn on “Record its sessions” on a stream (More actions → Edit). Its next session is recorded from the first
            frame.
          </Empty>
        )}
        {rows !== undefined && rows.length > 0 && (
          <div class="table-scroll folds">
            <table>
              <caption class="visually-hidden">Recordings and clips</caption>
              <thead>
                <tr>
                  <th>Name</th>
                  <th>What</th>
                  <th>State</th>
                  <th>Length</th>
                  <th>Made</th>
                  <th class="end">Size</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((asset) => (
                  <tr key={asset.id}>
                    <td>
                      <a class="name" dir="auto" href={hrefOf(`/recordings/${asset.id}`)}>
                        {asset.name}
                      </a>
                    </td>
                    <td data-name="What">{asset.source.type === 'clip' ? 'Clip' : 'Recording'}</td>
                    <td data-name="State">
                      <AssetState asset={asset} />
                    </td>
                    <td data-name="Length">{asset.videoSpec ? duration(asset.videoSpec.duration) : '–'}</td>
                    <td data-name="Made" class="soft">
                      <Ago at={asset.createdAt} />
                    </td>
                    <td data-name="Size" class="end">
                      {asset.size === undefined ? '–' : bytes(asset.size)}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {assets.hasMore && (
          <div class="more">
            <Button onPress={assets.more}>Show more</Button>
          </div>
        )}
      </Card>
    </>
  );
}

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
