/** What people say is kept in one row, and a row of SQLite holds 2 MB: what does not fit is refused before it is taken. */

import type { Message } from '../agent/model/message.ts'

/** UTF-8 bytes of JSON. The rest of the row is for the turn, its events and the beginning of an answer. */
export const mostSaid = 1_810_000

const encoder = new TextEncoder()

/** Whether these fit into a row together. */
export function fitRow(messages: readonly Message[]): boolean {
  const json = JSON.stringify(messages)
  // No character of a string has more than three bytes: most messages need not be encoded to be measured.
  return json.length * 3 <= mostSaid || encoder.encode(json).length <= mostSaid
}
