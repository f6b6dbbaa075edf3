/**
 * Customers: users who are no admins, each with an API key of its own.
 */
import { ApiClient } from '../../test/support/api-client.ts';
import type { TestServer } from '../../test/support/server.ts';

/** Makes a user and gives a client that speaks for it. @throws {Error} with the answer, when the server refuses */
export async function newCustomer(server: TestServer, name: string): Promise<ApiClient> {
  const post = async (path: string, body: object) => {
    const answer = await server.api.request('POST', path, body);
    if (!answer.ok) throw new Error(`POST ${path} gave ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as Record<string, string>;
  };
  const { id } = await post('/user', { name });
  const { key } = await post('/api-token', { name, userId: id });
  if (key === undefined) throw new Error('POST /api-token gave no key');
  return new ApiClient(`${server.url}/api`, key);
}
