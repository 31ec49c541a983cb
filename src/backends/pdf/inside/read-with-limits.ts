/** Reading with the limits that hold everywhere, on what the platform offers. */

import type { PdfAnswer } from '../../../agent/model/document.ts'
import { extract } from './extract.ts'

const LIMITS = { pages: 2_000, characters: 2_000_000 }
/** Between two pauses. Who looks for the objects of a damaged file goes over all of its bytes. */
const STEPS = 10_000_000
const STEPS_A_BYTE = 4

export async function readWithLimits(stream: ReadableStream<Uint8Array>, timeoutMs: number): Promise<PdfAnswer> {
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  const steps = STEPS + bytes.byteLength * STEPS_A_BYTE
  return extract(bytes, { ...LIMITS, steps, ms: timeoutMs }, { now: Date.now, wait: (ms) => scheduler.wait(ms) })
}
