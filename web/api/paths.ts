/** Builds the paths of requests from names that may have any characters. */

/** Addresses resolve `..`, so that a link to a file could choose another route. Nothing has this name. */
const encode = (segment: string): string => (segment === '..' ? '%252e%252e' : encodeURIComponent(segment))

/** Builds a path from segments that may contain any character. */
export const path = (strings: TemplateStringsArray, ...values: readonly string[]): string =>
  strings.reduce((all, text, at) => all + (at ? encode(values[at - 1] ?? '') : '') + text, '')

/** Files have slashes in their paths. `owner`: the path of a session or a project. */
export const fileOf = (owner: string, file: string): string => `${owner}/files/${file.split('/').map(encode).join('/')}`
export const filePath = (session: string, file: string): string => fileOf(path`/api/sessions/${session}`, file)
