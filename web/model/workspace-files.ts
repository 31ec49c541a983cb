/** Finds the files of the workspace that messages and answers name. */

export type FileKind = 'picture' | 'sound' | 'film' | 'other'

const kinds: Readonly<Record<string, FileKind>> = Object.fromEntries(
  Object.entries({
    picture: 'png jpg jpeg gif webp svg',
    sound: 'mp3 wav ogg oga opus m4a aac flac',
    film: 'mp4 m4v webm mov ogv',
  }).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind as FileKind])),
)

export const extensionOf = (path: string): string => /\.([a-z\d]{1,12})$/i.exec(path)?.[1]?.toLowerCase() ?? ''
export const kindOf = (path: string): FileKind => {
  const extension = extensionOf(path)
  return Object.hasOwn(kinds, extension) ? (kinds[extension] ?? 'other') : 'other'
}
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const maxPathChars = 1_024
/** Models write the first three for the folder of the workspace. */
const roots = /^(?:\/workspace\/|\/mnt\/data\/|\/home\/user\/workspace\/)/

/** The path of a file of the workspace, of an address that a model has written. Undefined for any other address. */
export function findPath(address: string): string | undefined {
  const isSandbox = /^(?:sandbox|file):\/{1,3}/i.test(address)
  const bare = isSandbox ? address.replace(/^\w+:\/{1,3}/, '/') : address
  const inside = bare.replace(roots, '')
  const relative = (isSandbox ? inside.replace(/^\//, '') : inside).replace(/^(?:\.\/)+/, '').replace(/#.*$/s, '')
  const path = decode(relative)
  const isNone = !path || path.endsWith('/') || path.length > maxPathChars || /^[a-z][a-z\d+.-]*:|^[/?]/i.test(path)
  return isNone || hasStrangePart(path) ? undefined : path
}

/** The server refuses these, too. */
const hasStrangePart = (path: string): boolean =>
  path.includes('\\') || [...path].some((char) => char < ' ') || path.split('/').includes('..')

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A file may have a percent sign in its name.
    return text
  }
}

export type TextOrFile = { readonly text: string; readonly path?: string }

/** Splits a text at the files that it names by `MEDIA:`, `sandbox:` or their place in `/workspace`. */
export function splitAtFiles(text: string): readonly TextOrFile[] {
  const parts: TextOrFile[] = []
  let end = 0
  for (const found of text.matchAll(/(?<![^\s(])(MEDIA:[ \t]?|(?=sandbox:\/|\/workspace\/))(\S{1,1024})/g)) {
    const [, tag = '', rest = ''] = found
    const written = rest.replace(/[.,;:!?)\]"'*]+$/, '')
    const path = findPath(written)
    if (path === undefined || !extensionOf(path)) continue
    if (found.index > end) parts.push({ text: text.slice(end, found.index) })
    parts.push({ text: nameOf(path), path })
    end = found.index + tag.length + written.length
  }
  if (end < text.length) parts.push({ text: text.slice(end) })
  return parts
}

/** `data`: the message is not stored yet. */
export type AttachedFile = { readonly name: string; readonly path?: string; readonly data?: string }

const attachedLine =
  /\n?\[(?:Attached file|File of the message replied to): (uploads\/[^\n]{1,400}) \([\w.+-]{1,60}\/[\w.+-]{1,80}\)\]/
const mentionLine = /(?:^|\n)@(?:"(uploads\/[^"\n]{1,400})"|(uploads\/\S{1,400}))$/

/** Separates the words of a person from the files of the message, which the server and the page name behind them. */
export function splitAttached(text: string): { readonly text: string; readonly files: readonly AttachedFile[] } {
  const files: AttachedFile[] = []
  let [words, rest] = cutAt(text, attachedLine.exec(text)?.index)
  for (let found = attachedLine.exec(rest); found; found = attachedLine.exec(rest)) {
    const [line, path = ''] = found
    files.push({ name: nameOf(path), path })
    rest = withoutContents(rest.slice(found.index + line.length), path)
  }
  words = words.trimEnd()
  for (let found = mentionLine.exec(words); found; found = mentionLine.exec(words)) {
    const path = found[1] ?? found[2] ?? ''
    files.unshift({ name: nameOf(path), path })
    words = words.slice(0, found.index).trimEnd()
  }
  return files.length ? { text: words, files } : { text, files }
}

const cutAt = (text: string, at = text.length): [string, string] => [text.slice(0, at), text.slice(at)]

/** The model reads the contents of a file behind its name. They may name other files. */
function withoutContents(text: string, path: string): string {
  const begin = text.indexOf(`\n[${path} contains:]\n`)
  if (begin < 0) return text
  const endings = [`\n[End of ${path}]`, ` more characters of ${path} are left out.]`]
  const [end = text.length] = endings.flatMap((ending) => {
    const at = text.lastIndexOf(ending)
    return at > begin ? [at + ending.length] : []
  })
  return text.slice(0, begin) + text.slice(end)
}
