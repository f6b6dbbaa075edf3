/**
 * The name of a stream that is known by its id.
 */
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { signedIn } from '../../shared/session.ts';
import type { Stream } from '../../shared/types.ts';
import { NameLink } from '../../shared/ui/table.tsx';

/**
 * The name of a stream, or its id when it was deleted. It leads to the stream's page if the stream is the user's own, because the page
 * shows no others.
 * @param props.isAnybodys whether it may be the stream of another user, which only admins may ask for
 */
export function StreamName({ id, isAnybodys }: { readonly id: string; readonly isAnybodys: boolean }) {
  const stream = useData(`name ${id} ${isAnybodys}`, (signal) =>
    get<Stream>(`/stream/${id}${isAnybodys ? '?all=1' : ''}`, { signal }),
  );
  if (stream.value === undefined) return <code class="small">{id}</code>;
  const { name, userId } = stream.value;
  if (userId !== signedIn.value?.user.id) return <bdi class="strong">{name}</bdi>;
  return <NameLink to={`/streams/${id}`}>{name}</NameLink>;
}
