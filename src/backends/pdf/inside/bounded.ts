/** Reading with the limits that hold everywhere, on what the platform offers. */

import type { PdfAnswer } from '../../../agent/model/document.ts'
import { extract } from './extract.ts'

const LIMITS = { pages: 2_000, characters: 2_000_000, steps: 20_000_000 }

export async function readBounded(stream: ReadableStream<Uint8Array>, timeoutMs: number): Promise<PdfAnswer> {
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  return extract(bytes, { ...LIMITS, ms: timeoutMs }, { now: Date.now, wait: (ms) => scheduler.wait(ms) })
}
