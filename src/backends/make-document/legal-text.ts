/** Removes what no document may contain: XML refuses these characters, and fonts of PDF do not have them. */

const illegal = /[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu

export const removeIllegal = (text: string): string => text.replace(illegal, '').toWellFormed()

/** Cuts a text, and no character of two code units in half. */
export const cutText = (text: string, maxChars: number): string =>
  text.length > maxChars ? text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '') : text
