/**
 * Customers: users who are not admins, so that quotas apply to them, each with an API key of its own.
 */
import { ApiClient } from './api-client.ts';
import type { TestServer } from './server.ts';

/**
 * Makes a user.
 * @returns a client with an API key of that user
 * @throws {Error} with the server's answer, when it refuses
 */
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
