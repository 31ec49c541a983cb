/** Parses a mail that the deployment's address received. */

import PostalMime, { addressParser, type Attachment, type Email } from 'postal-mime'
import type { CarriedFile, InboundEvent } from '../channel.ts'
import { provesSender } from './authentication-results.ts'
import { isTnef, parseTnef } from './parse-tnef.ts'
import { markPassedOn, stripQuotedReply, textOfHtml } from './email-text.ts'
import { describeContent } from '../text/describe-forward.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'

/** Answers to a mail keep its subject and its place in the conversation. */
export type MailThread = { readonly subject: string; readonly messageId: string; readonly references: string }

/** A conversation by mail may rest for long. */
const replyHandleMs = 90 * 86_400_000
const maxReferencesBytes = 1_800
const maxSubjectChars = 300
const maxIdChars = 400

type MailEnvelope = { readonly from: string; readonly to: string; readonly receivedAt: number }

/** Returns undefined for mail of machines, and for mail whose sender is not proven. */
export async function parseMail(
  raw: Uint8Array,
  envelope: MailEnvelope,
  ownAddress: string | undefined,
): Promise<InboundEvent | undefined> {
  const mail = await readMail(raw)
  const from = mail && senderOf(mail)
  if (!mail || !from || !isPerson(mail, from, envelope, ownAddress) || !isAuthenticated(mail, from)) return undefined
  const text = textOf(mail)
  const files = parseFiles(mail)
  if (!text && !files.media.length) return undefined
  const thread = await parseThread(mail, raw)
  const { messageId, quoted, root, subject, references } = thread
  const handle: MailThread = { subject, messageId, references }
  return {
    kind: 'message',
    key: messageId,
    address: { chat: from, thread: root },
    isGroup: false,
    sender: { id: from, name: nameOf(mail, from) },
    messageId,
    text: root === messageId ? withSubject(text, subject) : text,
    ...files,
    mentions: [],
    ...(quoted !== undefined && { quote: { messageId: quoted } }),
    replyHandle: { token: JSON.stringify(handle), expiresAt: envelope.receivedAt + replyHandleMs },
  }
}

/** Undefined for bytes that are no mail. */
const readMail = (raw: Uint8Array): Promise<Email | undefined> =>
  PostalMime.parse(Uint8Array.from(raw)).then(unwrap, () => undefined)

/** Outlook may put the text and the files of a mail into one file. */
function unwrap(mail: Email): Email {
  const attachments: Attachment[] = []
  let { text, html } = mail
  for (const one of mail.attachments) {
    const content = isTnef(one.filename, one.mimeType) ? parseTnef(parseBytes(one)) : undefined
    if (!content) {
      attachments.push(one)
      continue
    }
    text ||= content.text
    html ||= content.html
    attachments.push(
      ...content.files.map(({ name, mimeType, bytes }): Attachment => ({
        filename: name || null,
        mimeType: mimeType ?? mediaTypeOf(name),
        disposition: 'attachment',
        content: bytes.buffer,
      })),
    )
  }
  return { ...mail, attachments, ...(text !== undefined && { text }), ...(html !== undefined && { html }) }
}

const plainAddress = /^[^\s@<>"(),:;\\]+@[^\s@<>"(),:;\\]+$/

/** Undefined unless one header names one address: of several, a check may mean another than the one that is read. */
function senderOf(mail: Email): string | undefined {
  const [header, second] = mail.headers.filter(({ key }) => key === 'from')
  if (!header || second) return undefined
  const [sender, another] = addressParser(header.value)
  const isOne = !another && sender?.address !== undefined && !/<[^]*<|>\s*[^\s(]/.test(header.value)
  return isOne && plainAddress.test(sender.address) ? foldAddress(sender.address) : undefined
}

/** Other letters may fold to ASCII ones, and then another address would be this person's. */
const foldAddress = (address: string): string =>
  /^[\x21-\x7e]+@/.test(address) ? address.toLowerCase() : address.replace(/@.*$/s, (domain) => domain.toLowerCase())

/** A name that is another address would pass for its owner. */
const nameOf = (mail: Email, from: string): string => {
  const name = mail.from?.name ?? ''
  return name === '' || name.includes('@') ? from : name
}

/** A conversation is named by the id of its first mail, which every answer repeats. */
async function parseThread(mail: Email, raw: Uint8Array) {
  const messageId = idsIn(mail.messageId)[0] ?? `<${await sha256Hex(raw, 16)}@mail.invalid>`
  const earlier = idsIn(mail.references)
  const [quoted] = idsIn(mail.inReplyTo)
  const ids = quoted === undefined || earlier.includes(quoted) ? earlier : [...earlier, quoted]
  const subject = (mail.subject ?? '').replace(/\s+/g, ' ').trim().slice(0, maxSubjectChars)
  return { messageId, quoted, root: ids[0] ?? messageId, subject, references: joinReferences(ids, messageId) }
}

/** The subject of the first mail is part of the message, unless the message is a command. */
function withSubject(text: string, subject: string): string {
  if (!subject || text.startsWith('/')) return text
  const isOfOthers = forwardSubject.test(subject) || answerSubject.test(subject)
  return `${isOfOthers ? describeContent('Subject', subject) : `Subject: ${subject}`}\n\n${text}`.trim()
}

/** Languages have their own words for a mail that is passed on; the last ones are Japanese, Chinese and Korean. */
const forwardSubject =
  /^\s*(?:\[[^\]]{1,40}\]\s*)?(?:fwd?|fw|wg|tr|rv|enc|i|vs|vb|vl|pd|doorst|ilt|továbbítva|\u8ee2\u9001|\u8f6c\u53d1|\u8f49\u5bc4|\uc804\ub2ec)\s?[:\uff1a]/i

/** The last words are Chinese and Korean. */
const answerSubject =
  /^\s*(?:re|aw|sv|antw|odp|ynt|atb|ref|\u56de\u590d|\u7b54\u590d|\u56de\u8986|\ub2f5\uc7a5)\s?[:\uff1a]/i

/** An answer refers to another mail. Programs that pass a mail on may refer to it too, but say so in the subject. */
const isAnswer = ({ inReplyTo, references, subject = '' }: Email): boolean =>
  Boolean(inReplyTo || references || answerSubject.test(subject)) && !forwardSubject.test(subject)

function textOf(mail: Email): string {
  const text = stripQuotedReply(mail.text?.trim() || textOfHtml(mail.html ?? '', isAnswer(mail)), isAnswer(mail))
  const hasMail = mail.attachments.some(({ mimeType }) => mimeType === 'message/rfc822')
  return markPassedOn(text, forwardSubject.test(mail.subject ?? '') && !hasMail)
}

const headerOf = (mail: Email, name: string): string =>
  mail.headers.find(({ key }) => key === name)?.value.toLowerCase() ?? ''

const machineSender = /^(mailer-daemon|postmaster|bounces?|(?:do-?not-?|no-?)reply)(?:[+._-].{0,200})?@/

/** Answering a machine may begin a loop of two machines. */
function isPerson(mail: Email, from: string, envelope: MailEnvelope, ownAddress: string | undefined): boolean {
  const submitted = headerOf(mail, 'auto-submitted')
  const precedence = headerOf(mail, 'precedence')
  const isList = ['list-unsubscribe', 'list-id', 'x-auto-response-suppress', 'x-autoreply'].some((name) =>
    headerOf(mail, name),
  )
  return (
    envelope.from !== '' &&
    envelope.from !== '<>' &&
    from !== ownAddress?.toLowerCase() &&
    (submitted === '' || submitted.startsWith('no')) &&
    !/bulk|junk|list/.test(precedence) &&
    !isList &&
    !machineSender.test(from)
  )
}

/** Without a proof, anybody may have written the sender's name. */
const isAuthenticated = ({ headers }: Email, from: string): boolean =>
  provesSender(
    headers.filter(({ key }) => key === 'authentication-results').map(({ value }) => value),
    from,
  )

/** Ids come from strangers and go back into headers, so nothing else passes. */
const idsIn = (value: string | undefined): readonly string[] =>
  (value ?? '').match(/<[\x21-\x3b\x3d\x3f-\x7e]{1,400}>/g)?.filter((id) => id.length <= maxIdChars) ?? []

/** Keeps the first and the newest ids: a header has room for 2048 bytes. */
function joinReferences(ids: readonly string[], last: string): string {
  const [root, ...rest] = ids
  const kept: string[] = [last]
  let bytes = last.length + (root?.length ?? 0) + 1
  for (const id of rest.toReversed()) {
    bytes += id.length + 1
    if (bytes > maxReferencesBytes) break
    kept.unshift(id)
  }
  return [...(root !== undefined && root !== last ? [root] : []), ...kept].join(' ')
}

type MailFiles = { readonly media: readonly MediaReference[]; readonly carried?: readonly CarriedFile[] }

/** The references of a mail become part of a row. */
const maxFiles = 100
const maxNameChars = 200
/** Pictures within the text are often logos of a signature. */
const minInlineBytes = 20_000
const signatureType = /^application\/(?:(?:x-)?pkcs7-signature|pgp-signature)$/

/** Lists the pictures and documents of a mail. Their bytes exist nowhere but in the mail. */
function parseFiles({ attachments }: Email): MailFiles {
  const files = attachments.filter((one) => isContent(one, parseBytes(one))).slice(0, maxFiles)
  return {
    media: files.map((one, n) => ({
      kind: mediaKindOf(one.mimeType),
      reference: String(n),
      isCarried: true,
      ...(one.filename && { name: one.filename.slice(0, maxNameChars) }),
      mime: one.mimeType.slice(0, maxNameChars),
      bytes: parseBytes(one).length,
    })),
    ...(files.length > 0 && { carried: files.map((one, n) => ({ reference: String(n), bytes: parseBytes(one) })) }),
  }
}

/** Leaves out what only decorates or signs the mail. */
const isContent = ({ mimeType, related }: Attachment, bytes: Uint8Array): boolean =>
  bytes.length > 0 && !signatureType.test(mimeType) && !(related && bytes.length < minInlineBytes)

const parseBytes = ({ content }: Attachment): Uint8Array<ArrayBuffer> =>
  typeof content === 'string'
    ? Uint8Array.from(new TextEncoder().encode(content))
    : new Uint8Array(content as ArrayBuffer)
