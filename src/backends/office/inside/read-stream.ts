/** Reads an office document from a stream, with the timer of the platform. */

import type { ReadOffice } from '../protocol.ts'
import { extractOffice } from './extract.ts'

export const readOffice: ReadOffice = async (stream, format) => {
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  return extractOffice(bytes, format, () => scheduler.wait(0))
}
