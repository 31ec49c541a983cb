/** Renders error messages that the compiler and the runner share. */

export const slowPatternMessage = (pattern: string): string =>
  `The regular expression /${pattern}/ repeats a group that itself repeats, which can take forever. Write it without the outer repetition.`

export const missingModuleMessage = (name: string, importable: ReadonlySet<string>): string =>
  `There is no module '${name}': there are no packages, only ${[...importable].join(', ')} of Node. Read and write files with the tools.`
