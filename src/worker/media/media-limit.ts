/** The size of a form with images or sound. */

import type { BodyLimit } from '../input/body.ts'

/** That of OpenAI for sound, with some room for the other fields. */
export const mediaLimit: BodyLimit = { bytes: 26 * 1024 * 1024, text: '25 MB' }
