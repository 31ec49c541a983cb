/** Sends what a program prints to the session: its end, at most once per interval. */

import type { ProgramHost } from '../protocol.ts'

const intervalMs = 200
const maxChars = 20_000

/** `later`: the timer of the platform, because the program may replace the global one. */
export function createPrinter(host: Pick<ProgramHost, 'print'>, later: typeof setTimeout): (text: string) => void {
  let unsent = ''
  let isScheduled = false
  const send = () => {
    isScheduled = false
    const text = unsent
    unsent = ''
    // The result contains the output: a piece that does not arrive is not sent again.
    host.print(text).catch(() => undefined)
  }
  return (text) => {
    unsent += text
    // Not for every text: each cut copies the buffer.
    if (unsent.length > 2 * maxChars) unsent = unsent.slice(-maxChars)
    if (isScheduled) return
    isScheduled = true
    later(send, intervalMs)
  }
}
