/** Writes down what is said in a voice message. */

import type { Session } from '../session.ts'

type Voice = { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array<ArrayBuffer> }

/** Undefined: nothing here can transcribe it. */
export async function transcribeVoice(_session: Session, _voice: Voice): Promise<string | undefined> {
  return undefined
}
