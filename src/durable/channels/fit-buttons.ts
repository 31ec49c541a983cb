/** Fits the buttons of a question or an approval to what a platform shows. */

import type { Button } from '../../agent/model/delivery.ts'
import type { Capabilities } from '../../channels/channel.ts'

type Rows = readonly (readonly Button[])[]
type Asked = { readonly text: string; readonly buttons?: Rows }

/**
 * If not all buttons fit, the last one stays: it denies. Without buttons the text lists the choices, and the hint
 * names only what can be written.
 */
export function fitButtons(text: string, buttons: Rows | undefined, allowed: Capabilities['buttons']): Asked {
  const all = buttons?.flat() ?? []
  if (!all.length) return { text }
  if (!allowed) return { text: withoutHint(text, all) }
  const { maxRows, maxPerRow, maxLabelChars } = allowed
  const room = maxRows * maxPerRow
  const shown = all.length <= room ? all : [...all.slice(0, room - 1), ...all.slice(-1)]
  const labelled = shown.map(({ label, data }) => ({ label: [...label].slice(0, maxLabelChars).join(''), data }))
  const perRow = all.length <= maxRows ? 1 : maxPerRow
  const rows = Array.from({ length: Math.ceil(labelled.length / perRow) }, (_, n) =>
    labelled.slice(n * perRow, (n + 1) * perRow),
  )
  return { text, buttons: rows }
}

/** Approvals are written as /approve or /deny, so only the choices of a question are listed. */
function withoutHint(text: string, buttons: readonly Button[]): string {
  const plain = text.replace('Press a button, or write', 'Write')
  return plain.includes('/approve') ? plain : `${plain}\n${buttons.map(({ label }) => `- ${label}`).join('\n')}`
}
