/** `talaria sessions`: lists, shows, renames, tags, pins, archives, forks, exports and deletes sessions. */

import { createClient, sessionPath } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { dollars, plain, print, printList, printOne } from '../output.mjs'
import { exportSession, pruneSessions } from './old-sessions.mjs'

const marks = {
  pin: { pinned: true },
  unpin: { pinned: false },
  archive: { archived: true },
  unarchive: { archived: false },
}

export async function run({ options, words: [action = 'ls', ...words] }) {
  const client = createClient(requireConfig())
  const [id] = words
  if (action === 'ls') return list(client, options, words.join(' '))
  if (action === 'prune') return pruneSessions(client, options)
  if (marks[action]) return change(client, options, id, marks[action])
  return act(client, { options, words, action })
}

function act(client, { options, words, action }) {
  const [id, second] = words
  switch (action) {
    case 'show':
      return show(client, options, id)
    case 'rename':
      return change(client, options, id, { title: words.slice(1).join(' ') })
    case 'tag':
      return change(client, options, id, { tags: words.slice(1) })
    case 'fork':
      return fork(client, options, id, second)
    case 'export':
      return exportSession(client, options, id, second)
    case 'rm':
      return remove(client, options, words)
  }
}

async function list(client, options, words) {
  const { limit = '50' } = options
  if (!/^[1-9]\d{0,8}$/.test(limit)) throw new UsageError(`--limit is a whole number from 1, not "${limit}".`)
  const query = new URLSearchParams({
    limit: '50',
    ...(words && { q: words }),
    ...(options.archived && { archived: 'true' }),
    ...(options.tag !== undefined && { tag: options.tag }),
    ...(options.tool !== undefined && { tool: options.tool }),
    ...(options.project !== undefined && { project: options.project }),
  })
  const found = await client.list(`/api/sessions?${query}`, Number(limit))
  printList(options, found, ['ID', 'STATUS', 'UPDATED', 'MESSAGES', 'TITLE'], (one) => [
    one.id,
    one.status,
    one.updated_at.slice(0, 16).replace('T', ' '),
    String(one.message_count),
    [one.pinned && '*', one.title, ...one.tags.map((tag) => `#${tag}`)].filter(Boolean).join(' '),
  ])
}

async function show(client, options, id) {
  const session = await client.get(sessionPath(id))
  if (options.json) return print(JSON.stringify(session))
  const { title, status, model, context, queued, usage, tags, message_count: messages, tools, summary } = session
  print(
    `${plain(title ?? id)}\n${status}, ${model ?? 'default model'}, ${context.tokens} of ${context.window} tokens, ${dollars(usage.cost_usd)}, ${queued.length} queued`,
  )
  const used = tools.map(({ name, calls }) => `${name} ${calls}`).join(', ')
  print(`${messages} messages${used && `; calls: ${plain(used)}`}${tags.map((tag) => ` #${plain(tag)}`).join('')}`)
  print(`${summary ? plain(summary) : ''}\n`)
  const { data } = await client.get(sessionPath(id, '/messages?limit=20&preview=2000'))
  for (const { role, content, tool_calls: calls } of data) {
    const text = Array.isArray(content) ? content.map((part) => part.text ?? '[image]').join('') : content
    const called = (calls ?? []).map((call) => call.function.name).join(', ')
    print(`${role}: ${plain(text ?? '')}${called && ` → ${plain(called)}`}`)
  }
}

async function change(client, options, id, body) {
  const { body: session } = await client.call('PATCH', sessionPath(id), body)
  printOne(options, session, `${session.id} ${plain(session.title ?? '')}`)
}

async function fork(client, options, id, through) {
  const { body } = await client.call('POST', sessionPath(id, '/fork'), { ...(through && { through }) })
  printOne(options, body, body.id)
}

async function remove(client, options, ids) {
  const { body } = await client.call('POST', '/api/sessions/delete', { ids })
  printOne(
    options,
    body,
    `${body.deleted.length} deleted, ${body.missing.length} not there, ${body.failed.length} failed`,
  )
  return body.failed.length || body.missing.length ? exits.failed : exits.done
}
