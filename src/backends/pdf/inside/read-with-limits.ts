/** Reads a PDF file with the default limits and the clock of the platform. */

import type { PdfAnswer } from '#agent/core/media/document.ts'
import { extract } from './extract.ts'

const maxLengths = { pages: 2_000, characters: 2_000_000 }
/** Steps between two pauses. Repairing a damaged file takes steps for each of its bytes. */
const minSteps = 10_000_000
const stepsPerByte = 4

export async function readWithLimits(stream: ReadableStream<Uint8Array>, timeoutMs: number): Promise<PdfAnswer> {
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  const steps = minSteps + bytes.byteLength * stepsPerByte
  return extract(bytes, { ...maxLengths, steps, ms: timeoutMs }, { now: Date.now, wait: (ms) => scheduler.wait(ms) })
}
