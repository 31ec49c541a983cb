/** The shared server from inside a test file. */

import { inject } from 'vitest'
import { clientOf, newTenant } from './client.ts'

export const server = inject('server')
export const owner = clientOf(server.url, server.key)
export const tenant = () => newTenant(owner)

export type Asked = {
  readonly step: number
  readonly tools: boolean
  readonly status?: number
  readonly nonce?: string
}

/** What the model server was asked, for the messages that carry this nonce. */
export async function asked(nonce: string): Promise<readonly Asked[]> {
  const answer = await fetch(new URL('/__journal', server.modelUrl))
  const { data } = (await answer.json()) as { data: readonly Asked[] }
  return data.filter((entry) => entry.nonce === nonce)
}
