/** Says in our words why files cannot be had, or not be stored. */

import { ApiError } from '../../api/client.ts'
import { t } from '../../words/words.ts'

export function inOurWords(error: unknown): never {
  if (error instanceof ApiError && error.status === 429 && error.param === 'storage_bytes')
    throw new Error(t('filesFull'))
  if (error instanceof ApiError && error.status === 503) throw new Error(t('filesAway'))
  throw error
}
