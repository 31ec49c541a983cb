/** Reads the results of tools of a session, because a call that fails is fast. */

import { json, type Target } from './client.ts'

type Message = { readonly role: string; readonly content: string }

export async function toolResults(target: Target, session: string): Promise<readonly string[]> {
  const path = `/api/sessions/${session}/messages?limit=200`
  const { data } = await json<{ data: readonly Message[] }>(target, 'GET', path)
  return data.filter(({ role }) => role === 'tool').map(({ content }) => content)
}
