/** Resolves symbolic links in paths. A loop is ELOOP. Without links in the workspace, paths are only normalized. */

import { FileError } from './file-error.ts'
import { normalize, parentOf, join, nameOf } from './paths.ts'
import type { Row, Rows } from './rows.ts'

const maxHops = 40

type LinkResolver = {
  /** Resolves all links, including the last name. */
  readonly real: (path: string) => string
  /** Resolves the links of the directory, but not the last name, which may be a link itself. */
  readonly resolveParent: (path: string) => string
}

export function linkResolver(rows: Pick<Rows, 'hasLinks'>, at: (path: string) => Row | undefined): LinkResolver {
  function real(path: string): string {
    const whole = normalize(path)
    if (!rows.hasLinks()) return whole
    let rest = whole.split('/').filter(Boolean)
    let reached = '/'
    let hops = 0
    while (rest.length > 0) {
      const [name = '', ...after] = rest
      const next = join(reached, name)
      const row = at(next)
      if (row?.kind !== 'link') {
        reached = next
        rest = after
        continue
      }
      if (++hops > maxHops) throw new FileError('ELOOP', 'open', path)
      const target = row.ref ?? ''
      const turned = normalize(target.startsWith('/') ? target : `${reached}/${target}`)
      rest = [...turned.split('/').filter(Boolean), ...after]
      reached = '/'
    }
    return reached
  }
  function resolveParent(path: string): string {
    const whole = normalize(path)
    return whole === '/' ? whole : join(real(parentOf(whole)), nameOf(whole))
  }
  return { real, resolveParent }
}
