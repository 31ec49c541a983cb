/** Renders blocks and attachments of a Slack message as mrkdwn: shared messages and alerts have no text of their own. */

import * as z from 'zod'
import { describeForward } from '../text/describe-forward.ts'

const maxParts = 100
const maxDepth = 6

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.slice(0, maxParts) : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Inline elements of rich text, by their type. */
const inline: Readonly<Record<string, (element: Fields) => string>> = {
  text: ({ text }) => escapeText(textOf(text)),
  link: ({ url, text }) => `<${textOf(url)}${text ? `|${escapeText(textOf(text))}` : ''}>`,
  user: ({ user_id: id }) => `<@${textOf(id)}>`,
  channel: ({ channel_id: id }) => `<#${textOf(id)}>`,
  usergroup: ({ usergroup_id: id }) => `<!subteam^${textOf(id)}>`,
  broadcast: ({ range }) => `<!${textOf(range)}>`,
  emoji: ({ name, unicode }) => toEmoji(textOf(unicode)) || `:${textOf(name)}:`,
}

const toEmoji = (codes: string): string =>
  /^[\da-f]{1,6}(?:-[\da-f]{1,6}){0,9}$/i.test(codes)
    ? codes
        .split('-')
        .map((code) => Number.parseInt(code, 16))
        .map((code) => (code <= 0x10ffff ? String.fromCodePoint(code) : ''))
        .join('')
    : ''

/** Text objects are plain text, or mrkdwn. */
const renderText = (value: unknown): string => {
  if (!isFields(value)) return textOf(value)
  return value['type'] === 'plain_text' ? escapeText(textOf(value['text'])) : textOf(value['text'])
}

function renderBlock(block: unknown, depth: number): string {
  if (!isFields(block) || depth > maxDepth) return ''
  const { type, text, elements, fields, title } = block
  const render = inline[textOf(type)]
  if (render && !isFields(text)) return render(block)
  const children = listOf(elements).map((element) => renderBlock(element, depth + 1))
  if (type === 'rich_text_list') return children.map((child) => `• ${child}`).join('\n')
  if (type === 'rich_text_section' || type === 'rich_text_quote' || type === 'rich_text_preformatted')
    return children.join('')
  const own = [renderText(title), renderText(text), ...listOf(fields).map(renderText), ...children]
  return own.filter(Boolean).join('\n')
}

export const renderBlocks = (blocks: unknown): string =>
  listOf(blocks)
    .map((block) => renderBlock(block, 0))
    .filter(Boolean)
    .join('\n')

const attachment = z.object({
  is_share: z.boolean().optional(),
  is_msg_unfurl: z.boolean().optional(),
  from_url: z.string().optional(),
  author_name: z.string().optional(),
  pretext: z.string().optional(),
  title: z.string().optional(),
  title_link: z.string().optional(),
  text: z.string().optional(),
  fields: z
    .array(z.object({ title: z.string().default(''), value: z.coerce.string().default('') }))
    .default([])
    .catch([]),
  fallback: z.string().optional(),
  footer: z.string().optional(),
  blocks: z.array(z.unknown()).optional(),
  message_blocks: z
    .array(z.object({ message: z.object({ blocks: z.unknown().optional() }) }))
    .optional()
    .catch(undefined),
  files: z.array(z.unknown()).optional(),
})
type SlackAttachment = z.infer<typeof attachment>

type Rendered = { readonly text: string; readonly files: readonly unknown[] }

/** `hasText`: the person has written something. Then previews of links are no part of the message. */
export function renderAttachments(attachments: unknown, hasText: boolean): Rendered {
  const found = listOf(attachments).flatMap((one) => attachment.safeParse(one).data ?? [])
  const shown = found.filter((one) => isShared(one) || !hasText || one.from_url === undefined)
  return {
    text: shown.map(renderAttachment).filter(Boolean).join('\n'),
    files: shown.flatMap(({ files }) => files ?? []),
  }
}

const isShared = ({ is_share: isShare, is_msg_unfurl: isMessage }: SlackAttachment): boolean =>
  isShare === true || isMessage === true

function renderAttachment(one: SlackAttachment): string {
  const { pretext, title, title_link: link, text, fields, author_name: author } = one
  const body =
    text ||
    renderBlocks(one.blocks) ||
    (one.message_blocks ?? []).map((part) => renderBlocks(part.message.blocks)).join('\n')
  const lines = [
    pretext,
    title && (link ? `<${link}|${title}>` : title),
    body,
    ...fields.map((field) => [field.title, field.value].filter(Boolean).join(': ')),
  ].filter(Boolean)
  const content = lines.length > 0 ? lines.join('\n') : (one.fallback ?? '')
  if (!isShared(one)) return content
  return content || one.files?.length ? describeForward(content, author) : ''
}
