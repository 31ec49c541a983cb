/** Reads the events of a run from its first to its last one, as they come. */

import { send } from './client.ts'

/** Ends with the stream. */
export async function readEvents<Event>(
  path: string,
  signal: AbortSignal,
  onEvents: (events: readonly Event[]) => void,
): Promise<void> {
  const { body } = await send('GET', path, { headers: { accept: 'text/event-stream' }, signal })
  if (!body) return
  let rest = ''
  const decoder = new TextDecoder()
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    const data = lines.filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    if (data.length) onEvents(data.map((line) => JSON.parse(line.slice(6)) as Event))
  }
}
