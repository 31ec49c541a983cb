/**
 * Keeps the files that are attached to the message that is being written, of each session. Small ones are sent in the
 * message. Large ones are uploaded into the workspace at once, and the message names them. Large pictures are made
 * smaller first.
 */

import { effect, signal } from '@preact/signals'
import { api, ApiError, filePath, send } from '../../api/client.ts'
import { can, me } from '../../api/me.ts'
import { upload } from '../../api/upload.ts'
import { mention } from '../../model/completion.ts'
import { explainNow, showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import type { Attachment } from './draft.ts'

export type Upload = {
  readonly type: 'upload'
  readonly key: string
  readonly name: string
  /** The part that has left, from 0 to 1. */
  readonly share: number
  /** In the workspace, once it is there. */
  readonly path?: string
  /** An earlier message has it, too. */
  readonly isEarlier?: boolean
}
export type Attached = Attachment | Upload

/** As the API has it. */
const maxUploadBytes = 10 * 1_024 * 1_024
/** A message is at most 10 MB long, and base64 takes a third more. */
const maxInlineBytes = 7_000_000
const maxUnwatchedBytes = 1_000_000
const maxAttached = 20
const maxSide = 2_048
const maxNames = 100
const pictures = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])

const attached = signal<Readonly<Record<string, readonly Attached[]>>>({})
const running = new Map<string, AbortController>()
effect(() => {
  if (me.value === null) attached.value = {}
})

export const listAttached = (session: string): readonly Attached[] => attached.value[session] ?? []
export const setAttached = (session: string, list: readonly Attached[]): void =>
  void (attached.value = { ...attached.value, [session]: list.slice(0, maxAttached) })
const add = (session: string, one: Attached): void => setAttached(session, [...listAttached(session), one])

export const isUploading = (one: Attached): boolean => one.type === 'upload' && one.path === undefined
/** The words of a recording are only read when it comes in the message. */
export const needsUpload = ({ size, type }: File): boolean => {
  const most = /^(?:audio|video)\//.test(type) ? maxInlineBytes : maxUnwatchedBytes
  return can('write') && !pictures.has(type) && size > most
}

/** Refuses what is too large before anything of it is sent. */
export function checkSize({ name, size, type }: File): boolean {
  if (pictures.has(type) || size <= maxUploadBytes) return true
  showError(new Error(t('tooLarge', { name, max: '10 MB' })))
  return false
}

export async function attach(session: string, files: readonly File[]): Promise<void> {
  const read = files.filter((file) => !needsUpload(file))
  for (const file of files) if (needsUpload(file)) startUpload(session, file).catch(showError)
  const settled = await Promise.allSettled(read.map(readAttachment))
  // One that cannot be read does not keep the others.
  for (const one of settled)
    if (one.status === 'fulfilled') add(session, one.value)
    else showError(one.reason)
}

export function detach(session: string, one: Attached): void {
  setAttached(
    session,
    listAttached(session).filter((other) => other !== one),
  )
  if (one.type !== 'upload') return
  running.get(one.key)?.abort()
  if (one.path !== undefined && !one.isEarlier) api('DELETE', filePath(session, one.path)).catch(showError)
}

/** Uploaded files are named in the message. */
export function toMessage(text: string, list: readonly Attached[]): { text: string; attachments: Attachment[] } {
  const paths = list.flatMap((one) => (one.type === 'upload' && one.path !== undefined ? [mention(one.path)] : []))
  const attachments = list.flatMap((one) => (one.type === 'upload' ? [] : [one]))
  return { text: [text.trim(), paths.join('\n')].filter(Boolean).join('\n\n'), attachments }
}

async function startUpload(session: string, file: File): Promise<void> {
  const key = crypto.randomUUID()
  const abort = new AbortController()
  running.set(key, abort)
  const change = (part: Partial<Upload>) =>
    setAttached(
      session,
      listAttached(session).map((one) => (one.type === 'upload' && one.key === key ? { ...one, ...part } : one)),
    )
  add(session, { type: 'upload', key, name: file.name, share: 0 })
  try {
    change({
      share: 1,
      path: await store(session, file, { signal: abort.signal, onShare: (share) => change({ share }) }),
    })
  } catch (error) {
    setAttached(
      session,
      listAttached(session).filter((one) => one.type !== 'upload' || one.key !== key),
    )
    if (!abort.signal.aborted) throw new Error(`${file.name}: ${await explainNow(error)}`, { cause: error })
  } finally {
    running.delete(key)
  }
}

type Watch = { readonly signal: AbortSignal; readonly onShare: (share: number) => void }

/** Replaces no file that is there: a second one of that name gets a number. */
async function store(session: string, file: File, watch: Watch): Promise<string> {
  const [, stem = '', extension = ''] = /^(.{1,200}?)(\.[^.]{1,20})?$/s.exec(file.name.slice(-200)) ?? []
  for (let count = 1; ; count++) {
    const path = `uploads/${stem}${count > 1 ? `-${count}` : ''}${extension}`
    try {
      await upload(filePath(session, path), { ...watch, body: file, headers: { 'if-none-match': '*' } })
      return path
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412 || count >= maxNames) throw error
    }
  }
}

async function readAttachment(file: File): Promise<Attachment> {
  const blob = pictures.has(file.type) ? await shrink(file) : file
  if (blob.size > maxInlineBytes) throw new Error(t('tooLarge', { name: file.name, max: '7 MB' }))
  const data = await toDataUrl(blob)
  return pictures.has(file.type)
    ? { type: 'image', url: data, name: file.name }
    : { type: 'file', name: file.name, data }
}

/** Reads a picture of a message, so that it can be sent again after its message is gone. */
export async function readPicture(url: string): Promise<Attachment> {
  const data = url.startsWith('data:') ? url : await toDataUrl(await (await send('GET', url)).blob())
  return { type: 'image', url: data, name: t('picture') }
}

const toDataUrl = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(reader.error ?? new Error(t('unreadable'))))
    reader.readAsDataURL(blob)
  })

async function shrink(file: File): Promise<Blob> {
  const picture = await createImageBitmap(file).catch((cause: unknown) => {
    throw new Error(`${file.name}: ${t('unreadable')}`, { cause })
  })
  const scale = maxSide / Math.max(picture.width, picture.height)
  if (scale >= 1 || file.type === 'image/gif') return file
  const canvas = new OffscreenCanvas(Math.round(picture.width * scale), Math.round(picture.height * scale))
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
  return canvas.convertToBlob({ type: file.type === 'image/png' ? 'image/png' : 'image/jpeg', quality: 0.9 })
}
