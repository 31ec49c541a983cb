/** Validates the tags of a session. */

import * as z from 'zod'

const maxTags = 20
const maxTagChars = 50

/** They are compared as they are written, so that only what differs visibly is different. */
const tag = z
  .string()
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'has characters that cannot be shown')
  .transform((text) => text.normalize('NFC').trim())
  .pipe(z.string().min(1).max(maxTagChars))

export const tagsSchema = z
  .array(tag)
  .max(maxTags)
  .transform((tags) => [...new Set(tags)])
