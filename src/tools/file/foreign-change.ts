/** Informs the model that a file is not as it has seen it last. */

export const describeForeignChange = (path: string): string =>
  `${path} was changed since you last read or wrote it, and not by you. Nothing was written. Read it with read_file, then write what has to stay of both.`

export const unclearChange =
  'The file was not as you last read it: a command, or somebody else, had changed it. Check that nothing is lost.'

export const describePatchedChange = (path: string): string =>
  `Somebody else has changed ${path} since you last read it; their changes are kept. Read it before you go on.`
