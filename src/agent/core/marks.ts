/**
 * Defines marks: what a message, a file, a memory or a result holds. Reading copies them to the turn, writing copies them
 * from the turn to what it writes. The names of the fields are stored.
 */

export type Marks = {
  /** Somebody outside may have written it: pages, mail attachments, output of network programs, foreign servers. */
  readonly isForeign?: true
  /** It belongs to the tenant: workspace, memory, history, secrets. */
  readonly isPrivate?: true
}

/** The marks of the files of a session, stored with it. */
export type FileMarksRecord = {
  /** Every file that is not listed may be foreign. */
  readonly isForeign?: true
  /** A command may have written into any file what somebody else has dictated, not only fetched it. */
  readonly isDictated?: true
  /** Absolute paths, the oldest first: `f` for foreign, `p` for private, `fp` for both. */
  readonly files?: Readonly<Record<string, string>>
}

export const noMarks: Marks = {}
export const foreignMarks: Marks = { isForeign: true }
export const privateMarks: Marks = { isPrivate: true }
/** The default for stored data that has no marks. */
export const allMarks: Marks = { isForeign: true, isPrivate: true }

export const joinMarks = (...all: readonly (Marks | undefined)[]): Marks => ({
  ...(all.some((marks) => marks?.isForeign) && { isForeign: true }),
  ...(all.some((marks) => marks?.isPrivate) && { isPrivate: true }),
})

export const holdsBoth = ({ isForeign, isPrivate }: Marks): boolean => isForeign === true && isPrivate === true

/** Whether only people outside may have written it, and nothing of the tenant is in it. */
export const isPublic = ({ isForeign, isPrivate }: Marks): boolean => isForeign === true && isPrivate !== true
