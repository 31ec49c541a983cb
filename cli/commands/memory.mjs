/** `talaria memory`: lists, adds and removes what the agent remembers, restores versions and forgets. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, plain, print, printOne } from '../output.mjs'

export async function run({ options, words: [action = 'ls', ...words], usage }) {
  const call = {
    client: createClient(requireConfig()),
    options,
    target: options.user ? 'user' : options.project ? 'project' : 'memory',
    text: words.join(' ').trim(),
  }
  const { takesText, act } = actions[action] ?? {}
  const { session, person } = options
  const isUnderstood = act && takesText(call.text, session ?? person)
  if (!isUnderstood) throw new UsageError(`talaria ${usage}`)
  await act(call)
}

const none = (text) => !text
const some = (text) => Boolean(text)
const actions = {
  ls: {
    takesText: none,
    act: async ({ client, options }) => list(await client.get(`/api/memory${inProject(options, '?')}`), options),
  },
  add: { takesText: some, act: (call) => change(call, { action: 'add', content: call.text }, 'Remembered.') },
  rm: { takesText: some, act: (call) => change(call, { action: 'remove', old_text: call.text }, 'Forgotten.') },
  versions: { takesText: none, act: listVersions },
  restore: { takesText: (text) => /^\d+$/.test(text), act: restore },
  forget: { takesText: (text, origin) => Boolean(text) !== Boolean(origin), act: forget },
}

async function change({ client, target, options }, operation, done) {
  const { body } = await client.call('PATCH', '/api/memory', {
    target,
    ...(options.project && { project_id: options.project }),
    operations: [operation],
  })
  printOne(options, body, done)
}

async function restore({ client, options, text }) {
  const { body } = await client.call('POST', `/api/memory/versions/${text}/restore`)
  printOne(options, body, 'Restored. New sessions get it.')
}

const titles = { memory: 'Facts', project: 'Facts of the project', user: 'About you' }

const inProject = ({ project }, mark) => (project ? `${mark}project=${encodeURIComponent(project)}` : '')

function list(stores, { json }) {
  if (json) return print(JSON.stringify(stores))
  for (const [name, title] of Object.entries(titles)) {
    if (!stores[name]) continue
    const { entries, chars, limit } = stores[name]
    note(`${title} (${chars} of ${limit} characters)`)
    for (const entry of entries) print(`- ${plain(entry).replaceAll('\n', '\n  ')}`)
  }
}

async function listVersions({ client, target, options }) {
  const { data } = await client.get(`/api/memory/versions?target=${target}${inProject(options, '&')}`)
  if (options.json) return print(JSON.stringify(data))
  if (!data.length) note('There are no versions yet.')
  for (const { id, at, added, removed } of data) {
    print(`${id}  ${at ?? 'before versions were kept'}`)
    for (const entry of added) print(`   + ${plain(entry).replaceAll('\n', ' ')}`)
    for (const entry of removed) print(`   - ${plain(entry).replaceAll('\n', ' ')}`)
  }
}

/** Without --yes it only shows what would go. */
async function forget({ client, options: { session, person, yes = false, json }, text }) {
  const what = text ? { words: text } : session ? { session_id: session } : { person }
  const { body: done } = await client.call('POST', '/api/memory/forget', { ...what, confirm: yes })
  if (json) return print(JSON.stringify(done))
  for (const entry of done.entries) print(`- ${plain(entry.text).replaceAll('\n', '\n  ')} (${entry.target})`)
  const { hidden, earlier, outside } = done
  if (hidden) note(`and ${hidden} of the profile of another person`)
  if (earlier) note(`and ${earlier} more in earlier versions and writes that wait`)
  if (outside) note(`${outside} keeps what it has: delete it there.`)
  note(sumUp(done, yes))
}

function sumUp({ entries, hidden, earlier }, isDone) {
  if (!entries.length && !hidden && !earlier) return 'Nothing fits.'
  return isDone ? 'Forgotten.' : 'Nothing is forgotten yet: repeat it with --yes.'
}
