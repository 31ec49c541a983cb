/** Follows symbolic links in paths, as the system does when it opens them. */

import { anyText, canMatch, isGlob, isUnknown, type Field } from './field.ts'

/** Absolute paths of links, with their targets as they are written in the link. */
export type Links = ReadonlyMap<string, string>

const maxHops = 40
const maxPaths = 24

type Walk = { readonly done: Field[]; readonly rest: Field[]; readonly hops: number }

/**
 * Returns the absolute paths that a path stands for. A wildcard can match a link beside other names. `keepsLast`: the
 * last name stays as it is, as in `rm link`. Without a known start the result is unknown.
 */
export function followLinks(path: Field, cwd: Field, links: Links, keepsLast = false): readonly Field[] {
  const whole = path.startsWith('/') ? path : `${cwd}/${path}`
  if (!whole.startsWith('/')) return [anyText]
  const found = new Set<Field>()
  const pending: Walk[] = [{ done: [], rest: whole.split('/'), hops: 0 }]
  for (let walk = pending.pop(); walk && found.size <= maxPaths; walk = pending.pop())
    found.add(walkPath(walk, links, keepsLast, pending))
  return found.size > maxPaths ? [anyText] : [...found]
}

/** Walks the names of a path to its end. Other paths that it may stand for become pending. */
function walkPath({ done, rest, hops }: Walk, links: Links, keepsLast: boolean, pending: Walk[]): Field {
  const [names, reached] = [[...rest], [...done]]
  let followed = hops
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const isKept = keepsLast && names.length === 0
    const target = isKept ? undefined : links.get(`/${[...reached, name].join('/')}`)
    if (target !== undefined) {
      if (++followed > maxHops) return anyText
      if (target.startsWith('/')) reached.length = 0
      names.unshift(...target.split('/'))
      continue
    }
    if (!isKept && isGlob(name))
      pending.push(...listMatches({ done: reached, rest: names, hops: followed }, name, links))
    if (!enter(reached, name)) return anyText
  }
  return `/${reached.join('/')}`
}

/** Goes one name further. An unknown part may have several levels, so `..` leads to an unknown directory. */
function enter(reached: Field[], name: Field): boolean {
  if (name === '..') return !reached.some(isUnknown) && (reached.pop(), true)
  if (name !== '' && name !== '.') reached.push(name)
  return true
}

/** The links of a directory whose names a pattern matches. */
function listMatches({ done, rest, hops }: Walk, pattern: Field, links: Links): readonly Walk[] {
  if (hops >= maxHops) return []
  const directory = `/${done.map((name) => `${name}/`).join('')}`
  return [...links.keys()]
    .filter((link) => link.startsWith(directory) && canMatch(pattern, link.slice(directory.length)))
    .filter((link) => !link.slice(directory.length).includes('/'))
    .slice(0, maxPaths + 1)
    .map((link) => ({ done: [...done], rest: [link.slice(directory.length), ...rest], hops: hops + 1 }))
}
