/** Lists the pictures and documents of a mail. Their bytes exist nowhere but in the mail. */

import type { Attachment, Email } from 'postal-mime'
import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { CarriedFile } from '../channel.ts'

type MailFiles = { readonly media: readonly MediaReference[]; readonly carried?: readonly CarriedFile[] }

/** The references of a mail become part of a row. */
const maxFiles = 100
const maxNameChars = 200
/** Pictures within the text are often logos of a signature. */
const minInlineBytes = 20_000
const signatureType = /^application\/(?:(?:x-)?pkcs7-signature|pgp-signature)$/

export function parseFiles({ attachments }: Email): MailFiles {
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
