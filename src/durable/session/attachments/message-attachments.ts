/** Finds an image of a stored message by the id that its message shows. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import type { ImagePart } from '#agent/core/message.ts'
import { loadImage, tenantImagePrefix } from '#durable/workspace/attachments.ts'
import type { Session } from '../session.ts'

export type Attachment = { readonly mediaType: string; readonly bytes: Uint8Array }

/** `id`: the id of the message, a dot and the number of the part. Undefined for an unknown one, and for an image that is an address or is no longer stored. */
export async function readAttachment(
  { journal, tenantId }: Session,
  id: string,
  blobs: R2Bucket | undefined,
): Promise<Attachment | undefined> {
  const [, seq, part] = /^msg_(\d{1,15})\.(\d{1,4})$/.exec(id) ?? []
  if (seq === undefined) return undefined
  const [row] = journal.entriesNewestFirst(Number(seq) + 1)
  const message = row?.entries.find((entry) => entry.seq === Number(seq))?.message
  const image = message?.role === 'assistant' ? undefined : message?.content[Number(part)]
  if (image?.type !== 'image' || image.mediaType.endsWith(';url')) return undefined
  const data = await loadImage(image satisfies ImagePart, blobs, tenantImagePrefix(tenantId))
  return data === undefined ? undefined : { mediaType: image.mediaType, bytes: decodeBase64Bytes(data) }
}
