/** Gives a test file access to the shared server and model server. */

import { inject } from 'vitest'
import { createClient, newTenant } from './client.ts'

export const server = inject('server')
export const owner = createClient(server.url, server.key)
export const createTenant = () => newTenant(owner)

export type ModelRequest = {
  readonly step: number
  readonly tools: boolean
  readonly status?: number
  readonly nonce?: string
}

/** Lists the requests to the model server whose messages carry this nonce. */
export async function listModelRequests(nonce: string): Promise<readonly ModelRequest[]> {
  const answer = await fetch(new URL('/__journal', server.modelUrl))
  const { data } = (await answer.json()) as { data: readonly ModelRequest[] }
  return data.filter((entry) => entry.nonce === nonce)
}
