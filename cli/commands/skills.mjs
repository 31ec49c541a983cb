/** `talaria skills`: lists, shows, imports, updates and deletes skills. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { plain, print, printList, printOne } from '../output.mjs'

const skillPath = (name, rest = '') => `/api/skills/${encodeURIComponent(name)}${rest}`

export async function run({ options, words: [action = 'ls', name, ...words], usage }) {
  const client = createClient(requireConfig())
  if (action === 'ls' && name === undefined) return list(client, options)
  if (!name || (words.length && action !== 'import')) throw new UsageError(`talaria ${usage}`)
  switch (action) {
    case 'show':
      return show(client, options, name)
    case 'import':
      return bring(client, options, name, words[0])
    case 'update':
      return update(client, options, name)
    case 'rm':
      await client.call('DELETE', skillPath(name))
      return printOne(options, { name, status: 'deleted' }, 'Deleted.')
  }
  throw new UsageError(`talaria ${usage}`)
}

async function list(client, options) {
  printList(options, await client.list('/api/skills?limit=100'), ['NAME', 'SOURCE', 'DESCRIPTION'], (skill) => [
    skill.name,
    [skill.source, skill.archived && 'archived'].filter(Boolean).join(', '),
    skill.description.slice(0, 100),
  ])
}

async function show(client, options, name) {
  const skill = await client.get(skillPath(name))
  print(options.json ? JSON.stringify(skill) : plain(skill.content))
}

const careOf = ({ accept }) => (accept ? { accept: true } : {})

async function bring(client, options, url, name) {
  const { body } = await client.call('POST', '/api/skills/import', { url, ...(name && { name }), ...careOf(options) })
  printOne(options, body, `${plain(body.name)}: imported.`)
}

async function update(client, options, name) {
  const { available } = await client.get(skillPath(name, '/update'))
  if (!available) return printOne(options, { name, status: 'current' }, 'It is the newest version.')
  const { body } = await client.call('POST', skillPath(name, '/update'), careOf(options))
  printOne(options, body, 'Updated.')
}
