/** Follows symbolic links. A loop ends in ELOOP; a workspace without links is not walked at all. */

import { FileError } from './file-error.ts'
import { normalize, parentOf, join, nameOf } from './paths.ts'
import type { Row, Rows } from './rows.ts'

const MAX_HOPS = 40

type Follower = {
  /** Every link followed, the last one too. */
  readonly real: (path: string) => string
  /** The directory's links followed, the last name left as it is: for looking at a link itself. */
  readonly place: (path: string) => string
}

export function linkResolver(rows: Pick<Rows, 'hasLinks'>, at: (path: string) => Row | undefined): Follower {
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
      if (++hops > MAX_HOPS) throw new FileError('ELOOP', 'open', path)
      const target = row.ref ?? ''
      const turned = normalize(target.startsWith('/') ? target : `${reached}/${target}`)
      rest = [...turned.split('/').filter(Boolean), ...after]
      reached = '/'
    }
    return reached
  }
  function place(path: string): string {
    const whole = normalize(path)
    return whole === '/' ? whole : join(real(parentOf(whole)), nameOf(whole))
  }
  return { real, place }
}
