/** Resolves with the address of the browser of the run. Its user closes the sessions that it opens there. */

import { inject } from 'vitest'
import { chromium } from './chromium.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of shared-chromium.mjs. */
    readonly chromiumStarter: string
  }
}

export async function useChromium(path = chromium ?? ''): Promise<string> {
  const answer = await fetch(`${inject('chromiumStarter')}/${encodeURIComponent(path)}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}
