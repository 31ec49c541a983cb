/** `talaria memory`: lists, adds and removes what the agent remembers. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, plain, print, printOne } from '../output.mjs'

export async function run({ options, words: [action = 'ls', ...words], usage }) {
  const client = createClient(requireConfig())
  const target = options.user ? 'user' : 'memory'
  const text = words.join(' ').trim()
  if (action === 'ls' && !text) return list(await client.get('/api/memory'), options)
  const operation = { add: { action: 'add', content: text }, rm: { action: 'remove', old_text: text } }[action]
  if (!operation || !text) throw new UsageError(`talaria ${usage}`)
  const { body } = await client.call('PATCH', '/api/memory', { target, operations: [operation] })
  printOne(options, body, action === 'add' ? 'Remembered.' : 'Forgotten.')
}

const titles = { memory: 'Facts', user: 'About you' }

function list(stores, { json }) {
  if (json) return print(JSON.stringify(stores))
  for (const [name, title] of Object.entries(titles)) {
    const { entries, chars, limit } = stores[name]
    note(`${title} (${chars} of ${limit} characters)`)
    for (const entry of entries) print(`- ${plain(entry).replaceAll('\n', '\n  ')}`)
  }
}
