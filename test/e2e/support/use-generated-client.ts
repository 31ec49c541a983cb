// Uses the client that @hey-api/openapi-ts generates beside a copy of this file. Its types have to compile in strict mode.
import {
  createChatCompletion,
  createSession,
  getSession,
  listSessions,
  type SessionEvent,
  streamMessage,
} from './client/index.ts'
import { client } from './client/client.gen.ts'

export async function useClient(baseUrl: string, key: string) {
  client.setConfig({ baseUrl, auth: key })
  const title = 'Made by a generated client'
  const { data: session } = await createSession({ body: { title }, throwOnError: true })
  const { data: list } = await listSessions({ query: { limit: 5 }, throwOnError: true })
  const { data: completion } = await createChatCompletion({
    body: { model: 'talaria', messages: [{ role: 'user', content: 'hello' }] },
    throwOnError: true,
  })
  const { stream } = await streamMessage({ path: { id: session.id }, body: { input: 'hello' } })
  const events: SessionEvent['type'][] = []
  for await (const event of stream) events.push(event.type)
  const { error, response } = await getSession({ path: { id: 'ses_unknown' } })
  return {
    title: session.title,
    listed: list.data.some(({ id }) => id === session.id),
    finishReason: completion.choices[0]?.finish_reason,
    events: events.filter((type) => type.startsWith('run.')),
    refused: [error?.error.code, response?.status],
  }
}
