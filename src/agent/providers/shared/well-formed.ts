/** Text as the wire may carry it: no half of a surrogate pair, which several providers refuse. */

export const wellFormed = (text: string): string => text.toWellFormed()
