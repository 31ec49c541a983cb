/** `talaria skills`: lists, shows, imports, updates, publishes and deletes skills, and keeps all in a file. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { plain, print, printList, printOne } from '../output.mjs'

const skillPath = (name, rest = '') => `/api/skills/${encodeURIComponent(name)}${rest}`

/** Of all skills, by the name of a file. */
const ofAll =
  (action) =>
  async (...call) =>
    (await import('./skill-snapshot.mjs'))[action](...call)

const actions = {
  ls: list,
  show,
  import: bring,
  update,
  publish,
  rm: remove,
  snapshot: ofAll('snapshot'),
  restore: ofAll('restore'),
}

export async function run({ options, words: [action = 'ls', name, ...words] }) {
  const client = createClient(requireConfig())
  return actions[action](client, options, name, ...words)
}

async function remove(client, options, name) {
  await client.call('DELETE', skillPath(name))
  printOne(options, { name, status: 'deleted' }, 'Deleted.')
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
  const given = { url, ...(name && { name }), ...careOf(options) }
  const { body } = await client.call('POST', `/api/skills/import`, given)
  printOne(options, body, `${plain(body.name)}: imported.`)
}

async function update(client, options, name) {
  const { available } = await client.get(skillPath(name, '/update'))
  if (!available) return printOne(options, { name, status: 'current' }, 'It is the newest version.')
  const { body } = await client.call('POST', skillPath(name, '/update'), careOf(options))
  printOne(options, body, 'Updated.')
}

async function publish(client, options, name, repository) {
  const { body } = await client.call('POST', skillPath(name, '/publish'), { repository })
  printOne(options, body, `${body.created ? 'Offered' : 'Offered before'}: ${plain(body.url)}`)
}
