/** `talaria channels`: lists, tests, pauses and deletes connections to messaging platforms. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits } from '../exits.mjs'
import { printList, printOne } from '../output.mjs'

export async function run({ options, words: [action = 'ls', id] }) {
  const client = createClient(requireConfig())
  if (action === 'ls') return list(client, options)
  const path = `/api/channels/${encodeURIComponent(id)}`
  if (action === 'rm') {
    await client.call('DELETE', path)
    return printOne(options, { id, status: 'deleted' }, 'Deleted.')
  }
  const { body } = await client.call('POST', `${path}/${action}`, {})
  printOne(options, body, action === 'test' ? `${body.ok ? 'ok' : 'failed'}: ${body.detail}` : `${id}: ${body.status}`)
  return action === 'test' && !body.ok ? exits.failed : exits.done
}

async function list(client, options) {
  printList(options, await client.list('/api/channels'), ['ID', 'PLATFORM', 'STATUS', 'NAME'], (one) => [
    one.id,
    one.platform,
    one.status,
    one.name ?? '',
  ])
}
