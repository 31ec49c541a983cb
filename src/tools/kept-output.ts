/**
 * Shows an output to the model: its beginning and its end. All of it, up to 1 MiB, is stored in a file that `read_file`
 * pages through. The model learns what is stored, and what is missing there.
 */

import { BackendError, type ExecutionBackend, type OmittedOutput } from '#agent/core/backend.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { truncateMiddle, truncateOutput } from './terminal/format-output.ts'

/** Of each stream of a command. */
export const maxKeptBytes = 1024 * 1024
/** With the lines that a host writes in place of what it leaves out. */
const maxFileBytes = maxKeptBytes + 1024

type KeptOutput = {
  readonly output: string
  readonly truncated?: true
  readonly output_file?: string
  readonly note?: string
}

type OutputContext = {
  readonly backend: ExecutionBackend
  /** The beginning of the file's name. */
  readonly name: string
  readonly callId: string
  /** The size that the host has cut from the text. */
  readonly omitted?: OmittedOutput | undefined
}

export async function keepOutput(text: string, context: OutputContext): Promise<KeptOutput> {
  const shown = truncateOutput(text)
  if (!shown.truncated && !context.omitted) return { output: text }
  const kept = truncateMiddle(text, maxFileBytes)
  const file = await storeOutput(kept.text, context)
  const missing = [context.omitted, kept.omitted].filter((part) => part !== undefined)
  const notes = [
    ...(file === undefined
      ? []
      : [`output_file has ${countLines(kept.text)} lines: read it with read_file and offset.`]),
    ...missing.map(({ bytes, lines }) => `${bytes} bytes and ${lines} lines in the middle of the output are lost.`),
  ]
  return {
    output: shown.text,
    truncated: true,
    ...(file !== undefined && { output_file: file }),
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

const countLines = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)

/** When the workspace cannot store it, the answer names no file. */
async function storeOutput(text: string, { backend, name, callId }: OutputContext): Promise<string | undefined> {
  const id = callId.replace(/[^\w-]/g, '_').slice(0, 64)
  const path = `/tmp/results/${name}-${id}-${hash53(text).toString(36)}.txt`
  try {
    await backend.files.write(path, new TextEncoder().encode(text))
    return path
  } catch (error) {
    if (error instanceof BackendError) return undefined
    throw error
  }
}
