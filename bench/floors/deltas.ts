/** Reads the deltas of a streamed chat completion. */

export type ToolCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { name: string; arguments: string }
}

type Fragment = {
  readonly index: number
  readonly id?: string
  readonly function?: { readonly name?: string; readonly arguments?: string }
}

type Delta = { readonly content?: string | null; readonly tool_calls?: readonly Fragment[] }

type Chunk = { readonly choices: readonly { readonly delta: Delta }[] }

export async function* deltasOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Delta> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      if (!event.startsWith('data: {')) continue
      const delta = (JSON.parse(event.slice(6)) as Chunk).choices[0]?.delta
      if (delta) yield delta
    }
  }
}

/** Appends a fragment to its tool call. */
export const collect = (calls: ToolCall[], { index, id, function: part }: Fragment): void => {
  const call = (calls[index] ??= { id: id ?? '', type: 'function', function: { name: '', arguments: '' } })
  call.function.name += part?.name ?? ''
  call.function.arguments += part?.arguments ?? ''
}
