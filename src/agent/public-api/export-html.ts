/** Renders a session as one HTML page. The page loads nothing and runs no scripts; all content is escaped. */

import type { ExportedMessage } from './exported-message.ts'
import type { ExportSource, TextChunks } from './export-source.ts'

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.5rem;overflow-wrap:anywhere}section{border-top:1px solid #ddd;padding:.75rem 0}
h2{font-size:.8rem;color:#666;margin:0 0 .25rem;font-weight:600}.text,pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}
pre{font:13px/1.45 ui-monospace,monospace;background:#f5f5f5;padding:.6rem;border-radius:6px;margin-top:.4rem}
details{color:#555}img{max-width:100%}.user{background:#f7faff;padding:.75rem;border-radius:6px}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#222}.user{background:#1b2330}section{border-color:#333}}`

export async function* renderHtml({ session, messages }: ExportSource): TextChunks {
  const title = escapeHtml(session.title ?? 'Untitled session')
  yield `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${title}</title><style>${style}</style></head><body>\n<h1>${title}</h1>
<p>${escapeHtml(session.id)} · <time>${escapeHtml(session.created_at)}</time></p>\n`
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
    `<section class="${role}"><h2>${escapeHtml(source ? `${author} (${source})` : author)}${at ? ` · ${escapeHtml(at)}` : ''}</h2>`,
    reasoning ? `<details><summary>Thinking</summary><div class="text">${escapeHtml(reasoning)}</div></details>` : '',
    ...renderContent(message),
    ...calls,
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

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
