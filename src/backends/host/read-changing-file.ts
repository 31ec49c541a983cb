/** Reads a file that commands may change meanwhile. */

import { BackendError } from '#agent/core/backend.ts'

/** A file is sent between Durable Objects in one message of at most 32 MiB. */
const maxFileBytes = 30 * 1024 * 1024
const maxAttempts = 3

/**
 * Returns the file as it was at one moment, or a part of a file that grows: as much as it had at first. A file that has become
 * shorter is read again. `measure` returns its size, or undefined when there is none.
 */
export async function readChangingFile(
  path: string,
  measure: () => Promise<number | undefined>,
  read: () => Promise<Uint8Array>,
): Promise<Uint8Array | undefined> {
  let hasChanged = false
  let size = await measure()
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    if (size === undefined) return undefined
    if (size > maxFileBytes) throw tooLarge(size)
    const result = await read().catch((error: unknown) => ({ error, byteLength: -1 }))
    const isRead = !('error' in result)
    if (isRead && result.byteLength >= size) return result
    const now = await measure()
    if (isRead && result.byteLength === now) return result
    if (!isRead && now === size) throw result.error
    // A file that is written again may have been empty meanwhile.
    hasChanged ||= now !== size
    size = now
  }
  throw hasChanged ? changingError(path) : partError(path)
}

const partError = (path: string): BackendError =>
  new BackendError('unavailable', `Only a part of ${path} arrived.`, 'Read it again.')

export const changingError = (path: string): BackendError =>
  new BackendError(
    'invalid',
    `The file changes while it is read: ${path}`,
    'Read it again when nothing writes to it, or copy it first.',
  )

export const tooLarge = (size: number): BackendError =>
  new BackendError(
    'unsupported',
    `The file has ${size} bytes; ${maxFileBytes} can be read at once.`,
    'Use head, tail or split in the terminal.',
  )

export const isReadable = (size: number): boolean => size <= maxFileBytes
