/** Defines what the screens of batches show, and reads the results line by line. */

import { path, send } from '../../api/client.ts'

export type Counts = Readonly<Record<'pending' | 'running' | 'completed' | 'failed' | 'cancelled', number>>
export type Batch = {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly counts: Counts
  readonly spent_usd: number
  readonly held_usd: number
  readonly budget_usd: number | null
  readonly reason: string | null
  readonly created_at: string
  readonly ended_at: string | null
}
export type Result = {
  readonly n: number
  readonly id: string | null
  readonly status: keyof Counts
  readonly prompt: string
  readonly output: string | null
  readonly error: string | null
  readonly cost_usd: number | null
  readonly session_id: string | null
}

export const addressOfBatch = (id: string): string => path`/api/batches/${id}`

export const isGoing = ({ status, counts }: Batch): boolean => status === 'running' || counts.running > 0
export const totalOf = (counts: Counts): number => Object.values(counts).reduce((sum, count) => sum + count, 0)
/** Prompts that a retry runs again. */
export const againOf = ({ failed, cancelled, pending }: Counts): number => failed + cancelled + pending

export type Results = { readonly rows: readonly Result[]; readonly hasMore: boolean }

/** Reads no more of the answer than is shown: a batch has up to 10,000 prompts. */
export async function readResults(id: string, isWanted: (row: Result) => boolean, max: number): Promise<Results> {
  const abort = new AbortController()
  const { body } = await send('GET', `${addressOfBatch(id)}/results`, { signal: abort.signal })
  const rows: Result[] = []
  let rest = ''
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const lines = (rest + part.value).split('\n')
    rest = lines.pop() ?? ''
    rows.push(
      ...lines
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Result)
        .filter(isWanted),
    )
    if (rows.length <= max) continue
    abort.abort()
    return { rows: rows.slice(0, max), hasMore: true }
  }
  return { rows, hasMore: false }
}
