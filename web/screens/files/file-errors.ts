/** Explains in our words why files cannot be had, or not be stored. */

import { ApiError } from '../../api/client.ts'
import { wordsOf } from '../../words/words.ts'

export function inOurWords(error: unknown): never {
  if (error instanceof ApiError && error.status === 429 && error.param === 'storage_bytes')
    throw new Error(say('filesFull'))
  if (error instanceof ApiError && error.status === 503) throw new Error(say('filesAway'))
  throw error
}

const { say } = wordsOf(
  {
    filesAway: 'The files cannot be reached now. Try again in a moment.',
    filesFull: 'The storage is full. Delete files or sessions, or ask the owner for more.',
  },
  {
    filesAway: 'Die Dateien sind gerade nicht erreichbar. Versuche es gleich noch einmal.',
    filesFull: 'Der Speicher ist voll. Lösche Dateien oder Sitzungen, oder bitte den Betreiber um mehr.',
  },
)
