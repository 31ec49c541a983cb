/** Reads forms with files (multipart/form-data). */

import { invalid } from '../errors.ts'
import { type BodyLimit, readBytes } from './body.ts'

/** `field`: of the file, which errors name. */
export async function readForm(request: Request, field: string, limit?: BodyLimit): Promise<FormData> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.toLowerCase().startsWith('multipart/form-data'))
    throw invalid(`Send multipart/form-data with the field \`${field}\`.`, field)
  const bytes = await readBytes(request, limit)
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch {
    throw invalid('The body is not valid multipart/form-data.', 'body')
  }
}
