/** The mark at the beginning of a file: nobody writes it into a patch, and it stays where it is. */

export const byteOrderMark = '\uFEFF'

export const withoutMark = (text: string): string => (text.startsWith(byteOrderMark) ? text.slice(1) : text)
