/** Fits the buttons of a question or an approval to what a platform shows. */

import type { Button } from '#agent/core/delivery.ts'
import type { Capabilities } from '#channels/channel.ts'

type Rows = readonly (readonly Button[])[]
type Asked = { readonly text: string; readonly buttons?: Rows }

/**
 * If a button cannot be shown, or only a part of its label, the text lists the choices by number and the buttons show the
 * numbers. If not all fit, the last one stays: it denies. Without buttons the hint names only what can be written.
 */
export function fitButtons(text: string, buttons: Rows | undefined, allowed: Capabilities['buttons']): Asked {
  const all = buttons?.flat() ?? []
  if (!all.length) return { text }
  if (!allowed) return { text: withoutHint(text, all) }
  const { maxRows, maxPerRow, maxLabelChars } = allowed
  const room = maxRows * maxPerRow
  const isListed = all.length > room || all.some(({ label }) => label.length > maxLabelChars)
  const labelled = isListed ? all.map(({ data }, n) => ({ label: `${n + 1}`, data })) : all
  const shown = all.length <= room ? labelled : [...labelled.slice(0, room - 1), ...labelled.slice(-1)]
  const perRow = all.length <= maxRows ? 1 : maxPerRow
  const rows = Array.from({ length: Math.ceil(shown.length / perRow) }, (_, n) =>
    shown.slice(n * perRow, (n + 1) * perRow),
  )
  return { text: isListed ? withChoices(text, all) : text, buttons: rows }
}

/** Lists the choices in front of the hint, which is the last paragraph. */
function withChoices(text: string, buttons: readonly Button[]): string {
  const hintAt = text.lastIndexOf('\n\n')
  const choices = buttons.map(({ label }, n) => `${n + 1}. ${label}`).join('\n')
  return `${text.slice(0, hintAt)}\n\n${choices}${text.slice(hintAt)}`
}

/** Approvals are written as /approve or /deny, so only the choices of a question are listed. */
function withoutHint(text: string, buttons: readonly Button[]): string {
  const plain = text.replace('Press a button, or write', 'Write')
  return plain.includes('/approve') ? plain : `${plain}\n${buttons.map(({ label }) => `- ${label}`).join('\n')}`
}
