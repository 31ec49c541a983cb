/** Cuts objects out of JSON as they are written. Parsing them would round numbers and lose spaces. */

/** A string, a mark, or what is between them. It is sticky, so that no part of a text is read twice. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+|\s+/gsy

type OpenContainer = { readonly start: number; readonly isList: boolean; name: string | undefined }

/**
 * Returns the texts of the objects at a path of valid JSON, by their index in the list at `*`: `content.*.input` has the
 * inputs of all entries of `content`. An object at a path without a list has the index 0.
 */
export function sliceObjects(json: string, path: string): ReadonlyMap<number, string> {
  const steps = path.split('.')
  const listAt = steps.indexOf('*')
  const found = new Map<number, string>()
  const open: OpenContainer[] = []
  const isWanted = () =>
    open.length === steps.length && open.every(({ name }, at) => at === listAt || name === steps[at])
  for (const { 0: text, index } of json.matchAll(token)) {
    if (text === '{') open.push({ start: index, isList: false, name: undefined })
    else if (text === '[') open.push({ start: index, isList: true, name: '0' })
    const closed = text === '}' || text === ']' ? open.pop() : undefined
    if (closed && isWanted()) found.set(Number(open[listAt]?.name ?? 0), json.slice(closed.start, index + 1))
    const last = open.at(-1)
    if (last) advance(last, text)
  }
  return found
}

/** Follows the key of an object, or the index of a list. */
function advance(last: OpenContainer, text: string): void {
  if (text === ',') last.name = last.isList ? String(Number(last.name) + 1) : undefined
  else if (last.name === undefined && text.startsWith('"')) last.name = JSON.parse(text) as string
}

/** Parses JSON. The outermost objects under the key become the text that they are written as. */
export function parseWithText(json: string, key: string): unknown {
  const name = JSON.stringify(key)
  if (!new RegExp(`${name}\\s*:\\s*\\{`).test(json)) return JSON.parse(json)
  const pieces: string[] = []
  let [depth, start, copied] = [0, 0, 0]
  let [beforeLast, last] = ['', '']
  for (const { 0: text, index } of json.matchAll(token)) {
    if (text.trim() === '') continue
    if (depth > 0) depth += text === '{' ? 1 : text === '}' ? -1 : 0
    else if (text === '{' && last === ':' && beforeLast === name) [depth, start] = [1, index]
    if (start > copied && depth === 0) {
      pieces.push(json.slice(copied, start), JSON.stringify(json.slice(start, index + 1)))
      copied = index + 1
    }
    ;[beforeLast, last] = [last, text]
  }
  return JSON.parse(pieces.join('') + json.slice(copied))
}
