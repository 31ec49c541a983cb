/** `talaria keys`: lists, makes and revokes keys of the own tenant. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, printList, printOne } from '../output.mjs'

export async function run({ options, words: [action = 'ls', id] }) {
  const client = createClient(requireConfig())
  if (action === 'ls') return list(client, options)
  if (action === 'add') return add(client, options)
  await client.call('DELETE', `/api/keys/${encodeURIComponent(id)}`)
  printOne(options, { id, status: 'revoked' }, 'Revoked.')
}

async function list(client, options) {
  printList(options, await client.list('/api/keys'), ['ID', 'SCOPES', 'EXPIRES', 'NAME'], (key) => [
    key.id,
    key.scopes.join(','),
    key.expires_at?.slice(0, 10) ?? 'never',
    key.name ?? '',
  ])
}

async function add(client, { scopes, name, role, expires, ...options }) {
  const { body } = await client.call('POST', '/api/keys', {
    ...(scopes && { scopes: scopes.split(',') }),
    ...(name && { name }),
    ...(role && { role }),
    ...(expires && { expires_at: momentOf(expires) }),
  })
  printOne(options, body, body.key)
  note('It is shown only once.')
}

function momentOf(text) {
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) throw new UsageError('--expires needs a date, for example 2027-01-31.')
  return at.toISOString()
}
