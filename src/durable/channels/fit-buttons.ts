/** Fits the buttons of a message to what its platform shows. Loaded for the first message with buttons. */

import type { Button } from '#agent/core/delivery.ts'
import type { ChannelCapabilities } from '#channels/channel.ts'

type ButtonRows = readonly (readonly Button[])[]
type ButtonText = { readonly text: string; readonly buttons?: ButtonRows }

/**
 * If a button cannot be shown, or only a part of its label, the text lists the choices by number and the buttons show the
 * numbers. If not all fit, the last one stays: it denies. Without buttons the hint names only what can be written.
 */
export function fitButtons(
  text: string,
  buttons: ButtonRows | undefined,
  allowed: ChannelCapabilities['buttons'],
): ButtonText {
  const all = buttons?.flat() ?? []
  if (!all.length) return { text }
  if (!allowed) return { text: withoutButtons(text, all) }
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

/** Without buttons a number stands for its choice. */
const withoutButtons = (text: string, buttons: readonly Button[]): string =>
  withChoices(text.replace('Press a button, or write ', 'Write a number, or '), buttons)
