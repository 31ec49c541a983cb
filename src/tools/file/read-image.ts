/** Reads an image of the workspace for a model that sees images. Its first bytes, not its name, decide its type. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { fail } from '../tool-result.ts'

export const isImageName = (path: string): boolean => /\.(png|jpe?g|gif|webp|bmp|ico|avif|heic|tiff?)$/i.test(path)

/** The limit of the strictest provider, before base64. */
const maxImageBytes = 3.75 * 1024 * 1024

const formats: readonly (readonly [mediaType: string, is: (head: string) => boolean])[] = [
  ['image/png', (head) => head.startsWith('\u0089PNG\r\n')],
  ['image/jpeg', (head) => head.startsWith('\u00FF\u00D8\u00FF')],
  ['image/gif', (head) => head.startsWith('GIF87a') || head.startsWith('GIF89a')],
  ['image/webp', (head) => head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP'],
]

/** Returns undefined when the name is not one of an image, or when the file does not exist. */
export async function readImage(backend: ExecutionBackend, requestedPath: string): Promise<ToolResult | undefined> {
  const path = backend.resolve(requestedPath)
  const stat = isImageName(path) ? await backend.files.stat(path) : undefined
  if (stat?.type !== 'file') return undefined
  const failWithReason = (reason: string): ToolResult =>
    fail(`${requestedPath} ${reason}`, { is_binary: true, file_size: stat.size })
  if (stat.size > maxImageBytes) return failWithReason('is larger than 3.75 MiB. Make a smaller copy and read that.')
  const bytes = (await backend.files.read(path)) ?? new Uint8Array()
  const head = String.fromCharCode(...bytes.subarray(0, 16))
  const [mediaType] = formats.find(([, is]) => is(head)) ?? []
  if (mediaType === undefined) return failWithReason('is not a PNG, JPEG, GIF or WebP image. Only these can be shown.')
  const description = JSON.stringify({ image: mediaType, file_size: bytes.byteLength, note: 'The image follows.' })
  return {
    content: [
      { type: 'text', text: description },
      { type: 'image', mediaType, data: Buffer.from(bytes).toString('base64') },
    ],
    failed: false,
  }
}
