/**
 * Reads the files of a message of a chat into the workspace before its turn. Images also become a part of the message,
 * short texts and what was said in a voice message stand in it. A file that cannot be read leaves a note.
 */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { ImagePart, UserMessage } from '#agent/core/message.ts'
import type { FetchedMedia } from '#channels/channel.ts'
import { escapeName } from '#channels/text/quote-person.ts'
import type { Session } from '../session.ts'
import type { InboundSubmission } from './inbound.ts'
import { pathOfFile, writeIncomingFiles } from './incoming-files.ts'

export type ReceivedFiles = { readonly notes: readonly string[]; readonly images: readonly ImagePart[] }

export const noFiles: ReceivedFiles = { notes: [], images: [] }

const maxFiles = 20
/** Larger texts are read from the workspace. */
const maxInlineBytes = 100_000
/** Larger images are files only: models do not accept them. */
const maxImageBytes = 4_500_000
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export const withFiles = (message: UserMessage, { notes, images }: ReceivedFiles): UserMessage =>
  notes.length || images.length
    ? {
        ...message,
        content: [...message.content, ...notes.map((text) => ({ type: 'text', text }) as const), ...images],
      }
    : message

export async function receiveFiles(
  session: Session,
  { origin, runId }: InboundSubmission,
  media: readonly MediaReference[],
): Promise<ReceivedFiles> {
  const notes: string[] = []
  const images: ImagePart[] = []
  for (const [n, reference] of media.slice(0, maxFiles).entries()) {
    const fetched = await session.chatOutbox.media.fetch(origin, reference)
    const file = fetched.kind === 'fetched' ? describeFile(reference, fetched) : undefined
    if (!file) {
      notes.push(reportUnread(session, reference, fetched))
      continue
    }
    const path = pathOfFile(runId, file, n)
    await writeIncomingFiles(session, [{ path, bytes: file.bytes }])
    const title = reference.isQuoted ? 'File of the message replied to' : 'Attached file'
    notes.push(`\n[${title}: ${path} (${file.mediaType})]${await renderContent(session, reference, file)}`)
    const image =
      file.bytes.length <= maxImageBytes && imageTypes.has(file.mediaType) ? await imageOf(session, file) : undefined
    if (image) images.push(image)
  }
  if (media.length > maxFiles) notes.push(`\n[${media.length - maxFiles} more files were left out]`)
  return { notes, images }
}

type ReceivedFile = { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array<ArrayBuffer> }

const extensions: Readonly<Record<MediaReference['kind'], string>> = {
  image: 'image.jpg',
  voice: 'voice.ogg',
  audio: 'audio.mp3',
  video: 'video.mp4',
  document: 'file',
}

/** The type of images is that of their bytes: platforms and people name others. */
function describeFile(
  { kind, name, mime }: MediaReference,
  fetched: Extract<FetchedMedia, { kind: 'fetched' }>,
): ReceivedFile {
  const detected = detectMediaType(fetched.bytes)?.mime
  const mediaType = detected ?? fetched.mime ?? mime ?? 'application/octet-stream'
  return {
    name: name ?? fetched.name ?? extensions[kind],
    mediaType: /^[\w.+-]{1,60}\/[\w.+-]{1,80}$/.test(mediaType) ? mediaType : 'application/octet-stream',
    bytes: fetched.bytes,
  }
}

/** Tells the person too. The text of the message counts in any case. */
function reportUnread(session: Session, { kind, name }: MediaReference, fetched: FetchedMedia): string {
  const shown = name === undefined ? `the ${kind}` : `the ${kind} ${escapeName(name)}`
  const detail = fetched.kind === 'failed' ? fetched.detail : 'it is empty'
  session.chatOutbox.sendNotice(`I could not read ${shown}: ${detail}. I go on with the text alone.`)
  return `\n[The person sent ${shown}, which could not be read: ${detail}]`
}

/** The content of a short text, or the spoken words. Empty for other files. */
async function renderContent(session: Session, { kind }: MediaReference, file: ReceivedFile): Promise<string> {
  if (kind === 'voice') return renderTranscript(session, file)
  const isText = /^(text\/|application\/(json|xml|yaml|x-yaml|toml))/.test(file.mediaType)
  if (!isText || file.bytes.length > maxInlineBytes) return ''
  return `\n[It contains:]\n${new TextDecoder().decode(file.bytes)}`
}

async function renderTranscript({ toolRuntime }: Session, { bytes, mediaType }: ReceivedFile): Promise<string> {
  const said = await toolRuntime.paidMedia.transcribe({ bytes, mime: mediaType })
  if (said.kind === 'text') return `\n[Said in it:]\n${said.text}`
  return said.reason === 'not_configured'
    ? '\n[What was said cannot be transcribed here.]'
    : `\n[What was said could not be transcribed: ${said.error}]`
}

const imageOf = (session: Session, { mediaType, bytes }: ReceivedFile): Promise<ImagePart | undefined> =>
  session.chatOutbox.media.storeImage({ type: 'image', mediaType, data: encodeBase64Bytes(bytes) })
