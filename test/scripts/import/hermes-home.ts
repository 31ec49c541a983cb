/** Makes the home of a Hermes Agent for tests: its files, and a store with the documented columns. */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const skill = (name: string) =>
  `---\nname: ${name}\ndescription: How to ${name}.\n---\n\nDo it step by step, and check the result.\n`

const files = {
  'SOUL.md': 'You are Hermes, a calm assistant.\n',
  'memories/MEMORY.md': 'The staging server is in Frankfurt.\n§\nDeploys run on Fridays.\n',
  'memories/USER.md': 'Prefers short answers.',
  'skills/devops/ship-it/SKILL.md': skill('ship-it'),
  'skills/devops/ship-it/references/steps.md': '# Steps\n',
  'skills/brought-along/SKILL.md': skill('brought-along'),
  'skills/.bundled_manifest': 'brought-along:0123abcd\n',
  'skills/.hub/quarantine/SKILL.md': skill('quarantined'),
  '.env': 'OPENAI_API_KEY=sk-never-read-me-0123456789\n',
  'auth.json': '{"token":"never-read-me"}',
  'config.yaml': 'model: gpt-5.5\n',
}

type Row = {
  readonly role: string
  readonly content?: string | null
  readonly tool_calls?: string
  readonly tool_call_id?: string
  readonly tool_name?: string
  readonly reasoning?: string
  readonly active?: number
  readonly compacted?: number
}

const call = (id: string, name: string) =>
  JSON.stringify([{ id, type: 'function', function: { name, arguments: '{"path":"a"}' } }])

const talk: readonly Row[] = [
  { role: 'system', content: 'the system prompt' },
  { role: 'user', content: 'Where do we deploy?', active: 0, compacted: 1 },
  { role: 'user', content: 'taken back', active: 0 },
  { role: 'assistant', content: null, tool_calls: call('call_1', 'read_file'), reasoning: 'I look it up.' },
  { role: 'tool', content: '{"content":"Frankfurt"}', tool_call_id: 'call_1', tool_name: 'read_file' },
  { role: 'tool', content: 'of no call', tool_call_id: 'call_9', tool_name: 'read_file' },
  { role: 'assistant', content: 'To Frankfurt.' },
  {
    role: 'user',
    content:
      '\0json:[{"type":"text","text":"and this?"},{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]',
  },
  { role: 'assistant', content: 'I look.', tool_calls: call('call_2', 'search_files') },
]

const sessions = [
  { id: '20260101_120000_ab12cd', source: 'cli', title: 'Deploy region', messages: talk },
  {
    id: 'telegram:42/7',
    source: 'telegram',
    title: null,
    messages: [{ role: 'user', content: 'hello from the phone' }],
  },
  { id: 'child', source: 'subagent', title: 'hidden', messages: [{ role: 'user', content: 'a goal' }] },
  { id: 'empty', source: 'cli', title: 'empty', messages: [] },
]

const newerColumns = ', active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, reasoning TEXT'

/** `isOld`: the first version of the store, without the columns that came later. */
export function createHermesHome({ isOld = false } = {}): string {
  const home = mkdtempSync(join(tmpdir(), 'hermes-home-'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const db = new DatabaseSync(join(home, 'state.db'))
  db.exec(`CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, system_prompt TEXT,
    parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0${isOld ? '' : ', title TEXT'});
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER${isOld ? '' : newerColumns})`)
  const insert = (table: string, row: Readonly<Record<string, string | number | null>>) =>
    db
      .prepare(
        `INSERT INTO ${table} (${Object.keys(row).join()}) VALUES (${Object.keys(row)
          .map(() => '?')
          .join()})`,
      )
      .run(...Object.values(row))
  let seconds = 1_767_268_800
  for (const { id, source, title, messages } of sessions) {
    insert('sessions', { id, source, model: 'gpt-5.5', started_at: seconds, ...(!isOld && { title }) })
    for (const { active, compacted, reasoning, ...row } of messages as readonly Row[]) {
      const newer = { active: active ?? 1, compacted: compacted ?? 0, reasoning: reasoning ?? null }
      insert('messages', { session_id: id, timestamp: ++seconds + 0.5, ...row, ...(!isOld && newer) })
    }
  }
  db.close()
  return home
}
