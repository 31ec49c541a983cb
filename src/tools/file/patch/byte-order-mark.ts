/** Removes the byte order mark of a text. Patches do not contain it, and an edited file keeps it. */

export const byteOrderMark = '\uFEFF'

export const removeByteOrderMark = (text: string): string => (text.startsWith(byteOrderMark) ? text.slice(1) : text)
