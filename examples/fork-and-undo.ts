/** Tries something in a copy of a session, and undoes the last turn of the original. */

import assert from 'node:assert/strict'
import { api } from './talaria.ts'

type Session = { readonly id: string; readonly parent_id: string | null }
type List = { readonly data: readonly { readonly role: string; readonly content: string }[] }

const { id } = await api<Session>('POST', '/api/sessions', { model: 'demo/agent' })
await api('POST', `/api/sessions/${id}/chat`, { input: 'write plan.txt: first draft' })

const fork = await api<Session>('POST', `/api/sessions/${id}/fork`, { title: 'Second draft' })
assert.equal(fork.parent_id, id)
await api('POST', `/api/sessions/${fork.id}/chat`, { input: 'write plan.txt: second draft' })

const read = async (session: string) => {
  const { output } = await api<{ readonly output: string }>('POST', `/api/sessions/${session}/chat`, { input: 'read plan.txt' })
  return output
}
assert.match(await read(fork.id), /second draft/)
assert.match(await read(id), /first draft/)

await api('POST', `/api/sessions/${id}/undo`, {})
const { data } = await api<List>('GET', `/api/sessions/${id}/messages`)
assert.equal(data.filter(({ role }) => role === 'user').length, 1)

console.log('The fork has its own files, and the last turn of the original is undone.')
