/** Adds plugins, approves what their code is, and sees a hook stop a command. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { api } from './talaria.ts'

type Plugin = { readonly status: string; readonly hash: string; readonly tools: readonly { readonly name: string }[] }

const read = (name: string) => readFileSync(new URL(`plugins/${name}.js`, import.meta.url), 'utf8')

async function install(name: string, grants: object = {}): Promise<Plugin> {
  const added = await api<Plugin>('POST', '/api/plugins', { name, code: read(name), grants })
  assert.equal(added.status, 'pending', 'Nothing runs before a person has approved exactly this code.')
  return api<Plugin>('POST', `/api/plugins/${name}/approve`, { hash: added.hash })
}

await install('guard')
const rates = await install('rates', { fetch: ['api.frankfurter.dev'], kv: true })
assert.deepEqual(
  rates.tools.map(({ name }) => name),
  ['plugin__rates__exchange_rate'],
)

try {
  const { id } = await api<{ readonly id: string }>('POST', '/api/sessions', {
    model: 'demo/agent',
    settings: { approvals: { mode: 'manual' } },
  })
  await api('POST', `/api/sessions/${id}/chat`, { input: 'run: git push origin main' })
  const { data } = await api<{ readonly data: readonly { readonly role: string }[] }>(
    'GET',
    `/api/sessions/${id}/messages`,
  )
  assert.match(JSON.stringify(data), /nobody pushes to the main branch/)
} finally {
  for (const name of ['guard', 'rates']) await api('DELETE', `/api/plugins/${name}`)
}

console.log('The guard has blocked the push, and nobody was asked.')
