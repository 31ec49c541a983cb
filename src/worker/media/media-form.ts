/** Reads forms with files (multipart/form-data) of OpenAI's media routes. */

import { invalid } from '../errors.ts'
import { readLimited } from '../input/body.ts'

/** Of OpenAI for sound, with some room for the other fields. */
const maxBytes = 26 * 1024 * 1024

/** `field`: of the file, which errors name. */
export async function readForm(request: Request, field: string): Promise<FormData> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.toLowerCase().startsWith('multipart/form-data'))
    throw invalid(`Send multipart/form-data with the field \`${field}\`.`, field)
  const bytes = (await readLimited(request, maxBytes, '25 MB')) as Uint8Array<ArrayBuffer>
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch {
    throw invalid('The body is not valid multipart/form-data.', 'body')
  }
}
