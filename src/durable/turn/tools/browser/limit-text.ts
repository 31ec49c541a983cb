/** Shortens what a page shows to what a model needs at once. All of it is stored in a file of the workspace. */

import type { Files } from '#agent/core/backend.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { log } from '#agent/core/log.ts'

const maxShownChars = 15_000
const maxStoredChars = 2_000_000

type Store = { readonly files: Pick<Files, 'write'>; readonly callId: string }

export async function limitText(text: string, { files, callId }: Store): Promise<string> {
  if (text.length <= maxShownChars) return text
  const end = text.lastIndexOf('\n', maxShownChars)
  const shown = text.slice(0, end > maxShownChars / 2 ? end : maxShownChars)
  const stored = text.slice(0, maxStoredChars)
  const path = `/tmp/results/browser-${callId.replace(/[^\w-]/g, '_').slice(0, 64)}-${hash53(stored).toString(36)}.txt`
  const rest = text.slice(shown.length).split('\n').length
  try {
    await files.write(path, new TextEncoder().encode(stored))
    return `${shown}\n… ${rest} more lines. All of them are in ${path}: use read_file.`
  } catch (error) {
    log.warn('browser.unstored', 'A long snapshot could not be stored.', { error })
    return `${shown}\n… ${rest} more lines, which could not be stored.`
  }
}
