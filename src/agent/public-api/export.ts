/**
 * Renders a session in an export format, as a stream of text chunks. Nothing is redacted, because only the owner
 * gets an export. `json` and `jsonl` can be imported again.
 */

import type { ExportedMessage } from './exported-message.ts'
import type { ExportSource, TextChunks } from './export-source.ts'

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.5rem;overflow-wrap:anywhere}section{border-top:1px solid #ddd;padding:.75rem 0}
h2{font-size:.8rem;color:#666;margin:0 0 .25rem;font-weight:600}.text,pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}
pre{font:13px/1.45 ui-monospace,monospace;background:#f5f5f5;padding:.6rem;border-radius:6px;margin-top:.4rem}
details{color:#555}img{max-width:100%}.user{background:#f7faff;padding:.75rem;border-radius:6px}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#222}.user{background:#1b2330}section{border-color:#333}}`

/** Renders a session as one HTML page. The page loads nothing and runs no scripts; all content is escaped. */
async function* renderHtml({ session, messages, isPublic }: ExportSource): TextChunks {
  const title = escapeHtml(session.title ?? 'Untitled session')
  yield `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${title}</title><style>${style}</style></head><body>\n<h1>${title}</h1>
<p>${isPublic ? '' : `${escapeHtml(session.id)} · `}<time>${sayTime(session.created_at)}</time></p>\n`
  for await (const message of messages) yield renderMessage(message)
  yield '</body></html>\n'
}

function renderMessage(message: ExportedMessage): string {
  const { role, name, source, reasoning, created_at: at } = message
  const author = role === 'tool' ? `Result of ${name ?? 'a tool'}` : role === 'user' ? 'User' : 'Assistant'
  const calls = (message.tool_calls ?? []).map(
    ({ function: called }) => `<pre>${escapeHtml(`${called.name} ${called.arguments}`)}</pre>`,
  )
  return [
    `<section class="${role}"><h2>${escapeHtml(source ? `${author} (${source})` : author)}${at ? ` · ${sayTime(at)}` : ''}</h2>`,
    reasoning ? `<details><summary>Thinking</summary><div class="text">${escapeHtml(reasoning)}</div></details>` : '',
    ...renderContent(message),
    ...calls,
    message.rating ? `<p class="rating">${escapeHtml(describeRating(message.rating))}</p>` : '',
    '</section>\n',
  ].join('')
}

function renderContent({ role, content }: ExportedMessage): readonly string[] {
  const block = (text: string) =>
    role === 'tool' ? `<pre>${escapeHtml(text)}</pre>` : `<div class="text">${escapeHtml(text)}</div>`
  if (typeof content === 'string') return [block(content)]
  return (content ?? []).map((part) => {
    if (part.type === 'text') return block(part.text)
    const { url } = part.image_url
    // A remote image would be loaded when the page is opened, and reveal the reader to its server.
    return /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/.test(url)
      ? `<img alt="" src="${escapeHtml(url)}">`
      : block(`[image: ${url.startsWith('data:') ? 'not shown' : url}]`)
  })
}

/** For people, to the minute. An imported message may have another time zone. */
function sayTime(at: string): string {
  const [, day = at, time = '', zone = ''] = /^(.{10})T(.{5})[\d:.]*(.{1,6})$/.exec(at) ?? []
  return `${day} ${time} ${zone === 'Z' ? 'UTC' : zone}`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '')

export const exportFormats = ['json', 'jsonl', 'md', 'html', 'sharegpt'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** The formats that can hold the files of the workspace. They are those that can be imported. */
export const formatsWithFiles: readonly ExportFormat[] = ['json', 'jsonl']

export const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  json: 'application/json',
  jsonl: 'application/jsonl; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  html: 'text/html; charset=utf-8',
  sharegpt: 'application/json',
}

export const exportFormatName = 'talaria.session'
export const exportVersion = 1

const renderers: Readonly<Record<ExportFormat, (exported: ExportSource) => TextChunks>> = {
  json: renderJson,
  jsonl: renderJsonl,
  md: renderMarkdown,
  html: renderHtml,
  sharegpt: renderShareGpt,
}

export const renderExport = (format: ExportFormat, exported: ExportSource): TextChunks => renderers[format](exported)

const exportHead = ({ session }: ExportSource) => ({ format: exportFormatName, version: exportVersion, session })

async function* renderJson(exported: ExportSource): TextChunks {
  yield `${JSON.stringify(exportHead(exported)).slice(0, -1)},"messages":[`
  let between = '\n'
  for await (const message of exported.messages) {
    yield between + JSON.stringify(message)
    between = ',\n'
  }
  if (exported.files) {
    yield '\n],"files":['
    between = '\n'
    for await (const file of exported.files) {
      yield between + JSON.stringify(file)
      between = ',\n'
    }
  }
  yield '\n]}\n'
}

async function* renderJsonl(exported: ExportSource): TextChunks {
  yield `${JSON.stringify(exportHead(exported))}\n`
  for await (const message of exported.messages) yield `${JSON.stringify(message)}\n`
  for await (const file of exported.files ?? []) yield `${JSON.stringify({ file })}\n`
}

async function* renderMarkdown({ session, messages }: ExportSource): TextChunks {
  yield `# ${(session.title ?? 'Untitled session').replaceAll('\n', ' ')}\n\n${session.id} · ${sayTime(session.created_at)}\n`
  for await (const message of messages) {
    yield `\n## ${speakerName(message)}${message.created_at ? ` · ${sayTime(message.created_at)}` : ''}\n`
    if (message.reasoning) yield `\n${message.reasoning.replace(/^/gm, '> ')}\n`
    const text = renderText(message)
    if (text) yield `\n${message.role === 'tool' ? renderCodeBlock(text, '') : text}\n`
    for (const { function: called } of message.tool_calls ?? [])
      yield `\n\`${called.name}\`\n\n${renderCodeBlock(called.arguments, 'json')}\n`
    if (message.rating) yield `\n*${describeRating(message.rating).replaceAll(/\s+/g, ' ')}*\n`
  }
}

const describeRating = ({ value, note }: NonNullable<ExportedMessage['rating']>): string =>
  `Rated ${value}${note ? `: ${note}` : ''}`

/** Renders a Markdown code block whose fence is longer than any fence in the text. */
function renderCodeBlock(text: string, language: string): string {
  const maxLength = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(maxLength + 1)
  return `${fence}${language}\n${text}\n${fence}`
}

function speakerName({ role, name, source }: ExportedMessage): string {
  if (role === 'tool') return `Result of ${name ?? 'a tool'}`
  const author = role === 'user' ? 'User' : 'Assistant'
  return source ? `${author} (${source})` : author
}

/** Renders the content as text. An image becomes a placeholder or its URL. */
function renderText({ content }: ExportedMessage): string {
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

type ShareGptTurn = { readonly from: 'system' | 'human' | 'gpt' | 'tool'; readonly value: string }

/** Messages of the system: notices, nudges, and summaries of messages that the export has anyway. */
const isOfSystem = ({ source }: ExportedMessage): boolean =>
  source === 'notice' || source === 'nudge' || source === 'summary'

/**
 * Renders ShareGPT training data. Thinking, calls and results are in tags; results of one batch share a turn. It has
 * only what a model should learn: neither messages of the system, nor what requests add to the prompt for one call.
 */
async function* renderShareGpt({ session, system, messages }: ExportSource): TextChunks {
  yield `{"id":${JSON.stringify(session.id)},"conversations":[`
  let open: ShareGptTurn | undefined = system ? { from: 'system', value: system } : undefined
  let between = '\n'
  for await (const message of messages) {
    if (isOfSystem(message)) continue
    const turn = toShareGptTurn(message)
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

function toShareGptTurn(message: ExportedMessage): ShareGptTurn {
  if (message.role === 'user') return { from: 'human', value: renderText(message) }
  if (message.role === 'tool') {
    const result = { tool_call_id: message.tool_call_id, name: message.name, content: renderText(message) }
    return { from: 'tool', value: `<tool_response>\n${JSON.stringify(result)}\n</tool_response>` }
  }
  const calls = (message.tool_calls ?? []).map(
    ({ function: { name, arguments: json } }) =>
      `<tool_call>\n{"name":${JSON.stringify(name)},"arguments":${normalizeJson(json)}}\n</tool_call>`,
  )
  // Present even when empty, so that a model trained on this data learns one format.
  const thinking = `<think>\n${message.reasoning ? `${message.reasoning}\n` : ''}</think>`
  return { from: 'gpt', value: [thinking, renderText(message), ...calls].filter(Boolean).join('\n') }
}

/** Returns arguments as JSON: unchanged when they are valid, else as a JSON string. */
function normalizeJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return JSON.stringify(text)
  }
}
