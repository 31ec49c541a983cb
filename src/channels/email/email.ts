/**
 * Implements the channel port for email. Mail arrives through the email handler of the Worker, not by a webhook, and
 * leaves through the deployment's binding.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'
import {
  type Channel,
  type ChannelConnection,
  type InboundRequest,
  type OutboundEmail,
  type OutboundMessage,
  type Received,
  refused,
} from '../channel.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { encodeHtml } from '../text/encode-html.ts'
import { encodePlain, maxTextChars, renderEmail } from './email-text.ts'
import { type MailThread, parseMail } from './parse-mail.ts'

/** A mail may have 5 MiB; attachments grow by a third. */
const maxFileBytes = 3_500_000
const addressPattern = /^[^\s@<>"(),:;\\]{1,64}@[^\s@<>"(),:;\\]{1,255}$/

export const email: Channel = {
  platform: 'email',
  name: 'Email',
  apiBase: { variable: 'EMAIL_API_BASE', url: 'https://email.invalid' },
  secrets: {},
  needsAddress: true,
  ignoresStrangers: true,
  normalizeId: (id) => id.toLowerCase(),
  capabilities: { threads: true, files: { maxBytes: maxFileBytes } },
  textLimit: { max: maxTextChars, unit: 'utf16' },
  receive,
  render: renderEmail,
  send,
  getAccount: async ({ ownAddress, sendEmail }) => {
    if (!ownAddress) return { refused: 'the setting address is missing' }
    if (!sendEmail) return { refused: 'the deployment has no binding EMAIL (send_email in wrangler.toml)' }
    return { id: ownAddress.toLowerCase(), name: ownAddress }
  },
  resolveTarget: async (_connection, { chat, thread }) =>
    addressPattern.test(chat)
      ? {
          kind: 'found',
          address: { chat: chat.toLowerCase(), ...(thread !== undefined && { thread }) },
          isGroup: false,
        }
      : { kind: 'unknown', detail: 'This is no email address.' },
}

/** Only the email handler uses this method. Requests from outside cannot carry it. */
async function receive(
  { method, headers, body, receivedAt }: InboundRequest,
  { ownAddress }: ChannelConnection,
): Promise<Received> {
  if (method !== 'EMAIL') return refused()
  const envelope = { from: headers.get('x-envelope-from') ?? '', to: headers.get('x-envelope-to') ?? '', receivedAt }
  const event = await parseMail(body, envelope, ownAddress)
  return { events: event ? [event] : [] }
}

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { ownAddress, sendEmail } = connection
  if (!sendEmail || !ownAddress) return { kind: 'forbidden', detail: 'the deployment cannot send email' }
  try {
    await sendEmail(createMail(message, ownAddress))
    return { kind: 'sent' }
  } catch (error) {
    return classifyError(error)
  }
}

function createMail({ address, chunk, file, replyHandle }: OutboundMessage, from: string): OutboundEmail {
  const thread = parseThread(replyHandle?.token)
  // The text of a file is the note that it may have arrived before.
  const content = file
    ? { text: `${chunk.text}${file.name}`.trim() }
    : { text: encodePlain(chunk), html: encodeHtml(chunk) }
  return {
    from,
    to: address.chat,
    subject: thread?.subject ? answerSubject(thread.subject) : firstLine(file?.name ?? chunk.text),
    ...content,
    headers: renderHeaders(thread?.messageId ?? address.thread, thread?.references ?? address.thread),
    attachments: file ? [file] : [],
  }
}

const renderHeaders = (inReplyTo: string | undefined, references: string | undefined) => ({
  'Auto-Submitted': inReplyTo === undefined ? 'auto-generated' : 'auto-replied',
  ...(inReplyTo !== undefined && { 'In-Reply-To': inReplyTo }),
  ...(references !== undefined && { References: references }),
})

function parseThread(token: string | undefined): MailThread | undefined {
  const parsed = token === undefined ? undefined : (parseJson(token) as Partial<MailThread> | null | undefined)
  const { subject, messageId, references } = parsed ?? {}
  if (typeof messageId !== 'string' || typeof references !== 'string') return undefined
  return { subject: typeof subject === 'string' ? subject : '', messageId, references }
}

const answerSubject = (subject: string): string => (/^(re|aw|sv|antw) ?:/i.test(subject) ? subject : `Re: ${subject}`)

/** Mail that answers nothing needs a subject of its own. */
function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n')
  return line.slice(0, 80).trim() || 'Message'
}

const codes: Readonly<Record<string, 'retry' | 'forbidden' | 'too_long'>> = {
  E_RATE_LIMIT_EXCEEDED: 'retry',
  E_DAILY_LIMIT_EXCEEDED: 'retry',
  E_DELIVERY_FAILED: 'retry',
  E_INTERNAL_SERVER_ERROR: 'retry',
  E_CONTENT_TOO_LARGE: 'too_long',
  E_RECIPIENT_NOT_ALLOWED: 'forbidden',
  E_RECIPIENT_SUPPRESSED: 'forbidden',
  E_SENDER_NOT_VERIFIED: 'forbidden',
  E_SENDER_DOMAIN_NOT_AVAILABLE: 'forbidden',
}

/** The binding rejects before it accepts: a failure without a known code was not accepted either. */
function classifyError(error: unknown): SendOutcome {
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly code?: unknown
    readonly message?: unknown
  }
  const text = typeof message === 'string' ? message.slice(0, 300) : ''
  const known = typeof code === 'string' ? code : Object.keys(codes).find((one) => text.includes(one))
  const detail = [known, text].filter(Boolean).join(': ') || 'the mail was not accepted'
  return { kind: (known !== undefined && codes[known]) || 'fatal', detail }
}
