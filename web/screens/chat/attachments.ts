/** Reads files that a person attaches. Large pictures are made smaller first. */

import { t } from '../../words/words.ts'
import type { Attachment } from './store.ts'

const maxBytes = 7_000_000
const maxSide = 2_048
const pictures = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])

export async function readAttachment(file: File): Promise<Attachment> {
  const blob = pictures.has(file.type) ? await shrink(file) : file
  if (blob.size > maxBytes) throw new Error(t('tooLarge', { name: file.name, max: '7 MB' }))
  const data = await toDataUrl(blob)
  return pictures.has(file.type)
    ? { type: 'image', url: data, name: file.name }
    : { type: 'file', name: file.name, data }
}

const toDataUrl = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(reader.error ?? new Error(t('unreadable'))))
    reader.readAsDataURL(blob)
  })

async function shrink(file: File): Promise<Blob> {
  const picture = await createImageBitmap(file)
  const scale = maxSide / Math.max(picture.width, picture.height)
  if (scale >= 1 || file.type === 'image/gif') return file
  const canvas = new OffscreenCanvas(Math.round(picture.width * scale), Math.round(picture.height * scale))
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
  return canvas.convertToBlob({ type: file.type === 'image/png' ? 'image/png' : 'image/jpeg', quality: 0.9 })
}
