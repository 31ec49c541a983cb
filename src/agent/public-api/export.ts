/**
 * A session written down for people and other programs, piece by piece. Nothing is masked: an export is for the owner,
 * who may read all of it anyway. `json` and `jsonl` can be imported again.
 */

import { htmlExport } from './export-html.ts'
import type { ExportedMessage } from './exported-message.ts'
import type { Exported, Pieces } from './export-source.ts'

export const exportFormats = ['json', 'jsonl', 'md', 'html', 'sharegpt'] as const
export type ExportFormat = (typeof exportFormats)[number]

export const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  json: 'application/json',
  jsonl: 'application/jsonl; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  html: 'text/html; charset=utf-8',
  sharegpt: 'application/json',
}

export const exportName = 'talaria.session'
export const exportVersion = 1

const writers: Readonly<Record<ExportFormat, (exported: Exported) => Pieces>> = {
  json: asJson,
  jsonl,
  md: markdown,
  html: htmlExport,
  sharegpt,
}

export const writeExport = (format: ExportFormat, exported: Exported): Pieces => writers[format](exported)

const head = ({ session }: Exported) => ({ format: exportName, version: exportVersion, session })

async function* asJson(exported: Exported): Pieces {
  yield `${JSON.stringify(head(exported)).slice(0, -1)},"messages":[`
  let between = '\n'
  for await (const message of exported.messages) {
    yield between + JSON.stringify(message)
    between = ',\n'
  }
  yield '\n]}\n'
}

async function* jsonl(exported: Exported): Pieces {
  yield `${JSON.stringify(head(exported))}\n`
  for await (const message of exported.messages) yield `${JSON.stringify(message)}\n`
}

async function* markdown({ session, messages }: Exported): Pieces {
  yield `# ${(session.title ?? 'Untitled session').replaceAll('\n', ' ')}\n\n${session.id} · ${session.created_at}\n`
  for await (const message of messages) {
    yield `\n## ${whoOf(message)}${message.created_at ? ` · ${message.created_at}` : ''}\n`
    if (message.reasoning) yield `\n${message.reasoning.replace(/^/gm, '> ')}\n`
    const text = textOf(message)
    if (text) yield `\n${message.role === 'tool' ? fenced(text, '') : text}\n`
    for (const { function: called } of message.tool_calls ?? [])
      yield `\n\`${called.name}\`\n\n${fenced(called.arguments, 'json')}\n`
  }
}

/** A fence is longer than any in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}

function whoOf({ role, name, source }: ExportedMessage): string {
  if (role === 'tool') return `Result of ${name ?? 'a tool'}`
  const who = role === 'user' ? 'User' : 'Assistant'
  return source ? `${who} (${source})` : who
}

/** What is said, with images by what they are. */
function textOf({ content }: ExportedMessage): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) =>
    part.type === 'text'
      ? part.text
      : part.image_url.url.startsWith('data:')
        ? '[image]'
        : `[image: ${part.image_url.url}]`,
  )
  return texts.join('\n')
}

type Turn = { readonly from: 'system' | 'human' | 'gpt' | 'tool'; readonly value: string }

/** Turns as training data has them: thinking, calls and results in tags, results of one batch in one turn. */
async function* sharegpt({ session, system, messages }: Exported): Pieces {
  yield `{"id":${JSON.stringify(session.id)},"conversations":[`
  let open: Turn | undefined = system ? { from: 'system', value: system } : undefined
  let between = '\n'
  for await (const message of messages) {
    const turn = turnOf(message)
    if (open?.from === turn.from && turn.from !== 'gpt') {
      open = { ...open, value: `${open.value}\n${turn.value}` }
      continue
    }
    if (open) yield between + JSON.stringify(open)
    if (open) between = ',\n'
    open = turn
  }
  if (open) yield between + JSON.stringify(open)
  yield '\n]}\n'
}

function turnOf(message: ExportedMessage): Turn {
  if (message.role === 'user') return { from: 'human', value: textOf(message) }
  if (message.role === 'tool') {
    const result = { tool_call_id: message.tool_call_id, name: message.name, content: textOf(message) }
    return { from: 'tool', value: `<tool_response>\n${JSON.stringify(result)}\n</tool_response>` }
  }
  const calls = (message.tool_calls ?? []).map(
    ({ function: { name, arguments: json } }) =>
      `<tool_call>\n{"name":${JSON.stringify(name)},"arguments":${asObject(json)}}\n</tool_call>`,
  )
  // Always there, so that a model trained on it learns one shape.
  const thinking = `<think>\n${message.reasoning ? `${message.reasoning}\n` : ''}</think>`
  return { from: 'gpt', value: [thinking, textOf(message), ...calls].filter(Boolean).join('\n') }
}

/** Arguments as they were written, when they are JSON; else as a string. */
function asObject(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return JSON.stringify(text)
  }
}
