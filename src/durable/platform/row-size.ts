/** What people say is kept in one row, and a row of SQLite holds 2 MB: what does not fit is refused before it is taken. */

import type { Message } from '../../agent/model/message.ts'

/** UTF-8 bytes of JSON. The rest of the row is for the turn, its events and the beginning of an answer. */
export const mostSaid = 1_810_000

const encoder = new TextEncoder()

export const bytesOf = (text: string): number => encoder.encode(text).byteLength

/** No character of a string has more than three bytes: most texts need not be encoded to be measured. */
export const fits = (text: string, most: number): boolean => text.length * 3 <= most || bytesOf(text) <= most

/** Whether these fit into a row together. */
export const fitRow = (messages: readonly Message[]): boolean => fits(JSON.stringify(messages), mostSaid)
