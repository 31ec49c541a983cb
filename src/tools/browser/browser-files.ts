/** Moves files between the workspace and the page of the browser. Loaded with the first one. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { FileForPage } from '#agent/core/browser/browser.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { type BrowserContext, runBrowser } from './run-browser.ts'

type FileContext = BrowserContext & { readonly backend: ExecutionBackend }

const maxBytes = 10 * 2 ** 20

export const uploadFiles = (
  { ref, paths }: { readonly ref: string; readonly paths: readonly string[] },
  { backend, ...context }: FileContext,
): Promise<ToolAnswer> =>
  failOnBackendError(async () => {
    const files: FileForPage[] = []
    let left = maxBytes
    for (const path of paths) {
      const bytes = await backend.files.read(backend.resolve(path))
      if (!bytes) return fail(`There is no file ${path}.`)
      left -= bytes.byteLength
      if (left < 0) return fail('The files are larger than 10 MB. Choose fewer or smaller ones.')
      const name = path.slice(path.lastIndexOf('/') + 1)
      files.push({ name, mediaType: detectMediaType(bytes)?.mime ?? '', data: encodeBase64Bytes(bytes) })
    }
    return runBrowser({ kind: 'upload', ref, files }, context)
  })

export const savePdf = (path: string, { browser, backend, ...call }: FileContext): Promise<ToolAnswer> =>
  failOnBackendError(async () => {
    const printed = await browser.act({ kind: 'pdf' }, call)
    if (printed.kind === 'failed') return fail(printed.error, { success: false })
    const bytes = decodeBase64Bytes(printed.image ?? '')
    await backend.files.write(backend.resolve(path), bytes)
    return { ...printed.value, path, bytes: bytes.byteLength }
  })
