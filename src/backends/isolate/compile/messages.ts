/** Sentences that both isolates say. */

export const slowPatternMessage = (pattern: string): string =>
  `The regular expression /${pattern}/ repeats a group that repeats inside; it can take forever. Write it without the outer repetition.`

export const missingModuleMessage = (name: string, importable: ReadonlySet<string>): string =>
  `There is no module '${name}' here: no packages, only ${[...importable].join(', ')} of node. Files are read and written with the tools.`
