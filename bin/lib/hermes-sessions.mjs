/**
 * Reads the sessions of a Hermes Agent from its SQLite store (state.db), and renders each as the body of
 * `POST /api/sessions/import`. The store is opened read-only. Columns that a version does not have are left out.
 */

import { existsSync } from 'node:fs'

/** Work of other sessions, which nobody would look for. */
const hiddenSources = new Set(['subagent', 'tool', 'kanban'])
const maxMessages = 20_000
/** The server takes bodies of 10 MB. */
const maxBodyChars = 8_000_000
/** Hermes stores content that is not text as JSON behind this prefix. */
const jsonPrefix = '\0json:'
const shortenedChars = 20_000

export async function readSessions(path) {
  if (!existsSync(path)) return []
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const has = columnsOf(db)
    const pick = (table, names) => names.filter((name) => has(table, name)).join(', ')
    const columns = pick('sessions', ['id', 'source', 'title', 'model', 'started_at'])
    const rows = db.prepare(
      `SELECT ${columns} FROM sessions ORDER BY ${has('sessions', 'started_at') ? 'started_at, ' : ''}id`,
    )
    return rows
      .all()
      .filter(({ source }) => !hiddenSources.has(source))
      .flatMap((row) => {
        const messages = readMessages(db, row.id, { has, pick })
        return messages.length ? [createSession(row, messages)] : []
      })
  } finally {
    db.close()
  }
}

function columnsOf(db) {
  const tables = new Map()
  return (table, column) => {
    if (!tables.has(table))
      tables.set(
        table,
        new Set(
          db
            .prepare(`SELECT name FROM pragma_table_info(?)`)
            .all(table)
            .map(({ name }) => name),
        ),
      )
    return tables.get(table).has(column)
  }
}

function readMessages(db, sessionId, { has, pick }) {
  const columns = pick('messages', [
    'role',
    'content',
    'tool_calls',
    'tool_call_id',
    'tool_name',
    'timestamp',
    'reasoning',
  ])
  // Compacted messages are part of the conversation; those that were taken back are not.
  const isKept = !has('messages', 'active')
    ? ''
    : has('messages', 'compacted')
      ? 'AND (active = 1 OR compacted = 1)'
      : 'AND active = 1'
  const rows = db
    .prepare(`SELECT ${columns} FROM messages WHERE session_id = ? ${isKept} ORDER BY id LIMIT ${maxMessages}`)
    .all(sessionId)
  return closeCalls(rows.flatMap(toMessage))
}

function toMessage(row) {
  if (!['user', 'assistant', 'tool'].includes(row.role)) return []
  const calls = row.role === 'assistant' ? parseCalls(row.tool_calls) : []
  return [
    {
      role: row.role,
      content: parseContent(row.content),
      ...(calls.length && { tool_calls: calls }),
      ...(row.role === 'tool' && { tool_call_id: row.tool_call_id ?? '', name: row.tool_name || 'unknown' }),
      ...(row.role === 'assistant' && row.reasoning && { reasoning: String(row.reasoning) }),
      ...(row.timestamp && { created_at: toIso(row.timestamp) }),
    },
  ]
}

/** Times are seconds since 1970, with a fraction. */
const toIso = (time) => new Date(time > 1e11 ? time : time * 1000).toISOString()

function parseContent(content) {
  if (typeof content !== 'string') return ''
  if (!content.startsWith(jsonPrefix)) return content
  const parts = parseJson(content.slice(jsonPrefix.length))
  if (!Array.isArray(parts)) return ''
  return parts.flatMap((part) => {
    if (typeof part?.text === 'string') return [{ type: 'text', text: part.text }]
    const url = part?.image_url?.url
    return typeof url === 'string' && /^(https:|data:image\/)/.test(url)
      ? [{ type: 'image_url', image_url: { url } }]
      : []
  })
}

function parseCalls(text) {
  const calls = typeof text === 'string' ? parseJson(text) : undefined
  if (!Array.isArray(calls)) return []
  return calls.flatMap((call) => {
    const { name, arguments: input } = call?.function ?? {}
    const id = call?.id ?? call?.call_id
    if (typeof name !== 'string' || typeof id !== 'string') return []
    const args = typeof input === 'string' ? input : JSON.stringify(input ?? {})
    return [{ id, type: 'function', function: { name, arguments: args } }]
  })
}

function parseJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Makes every call have one result, right behind it: a conversation may have ended within a batch. */
function closeCalls(messages) {
  const closed = []
  let open = []
  const close = () => {
    for (const { id, function: called } of open)
      closed.push({ role: 'tool', tool_call_id: id, name: called.name, content: '[The result was not stored.]' })
    open = []
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      const call = open.find(({ id }) => id === message.tool_call_id)
      if (!call) continue
      open = open.filter((other) => other !== call)
      closed.push({ ...message, name: call.function.name })
      continue
    }
    close()
    closed.push(message)
    open = message.tool_calls ?? []
  }
  close()
  return closed
}

function createSession({ id, title, model, started_at: startedAt }, messages) {
  const head = {
    format: 'talaria.session',
    version: 1,
    session: { title: title ?? null, model: model ?? null, ...(startedAt && { created_at: toIso(startedAt) }) },
  }
  const render = () => {
    const text = JSON.stringify({ ...head, messages })
    // Long results are shortened first. What is still too large is refused by the server, and reported.
    return text.length <= maxBodyChars ? text : JSON.stringify({ ...head, messages: messages.map(shorten) })
  }
  return { id: sessionIdOf(id), title, render }
}

const shorten = (message) =>
  message.role === 'tool' && typeof message.content === 'string' && message.content.length > shortenedChars
    ? { ...message, content: `${message.content.slice(0, shortenedChars)}\n[shortened by the import]` }
    : message

/** The id in Talaria, which stays the same in every run. Other characters than those of a session's name become `_`. */
const sessionIdOf = (id) => `hermes-${String(id).replace(/[^A-Za-z0-9_.:-]/g, '_')}`.slice(0, 128)
