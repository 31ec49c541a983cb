/** Resolves with the address of the shared browser. Its user closes the sessions that it opens there. */

import { inject } from 'vitest'
import { chromium } from './chromium.mjs'

export async function useChromium(path = chromium ?? ''): Promise<string> {
  const answer = await fetch(`${inject('chromiumStarter')}/${encodeURIComponent(path)}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}
