/** Creates a workspace and a folder of the host beside it. */

import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export { filesBelow, walk } from '../../sandbox/walk.mjs'

export function newHome() {
  const top = mkdtempSync(join(tmpdir(), 'talaria-walk-'))
  const [home, host] = [join(top, 'home'), join(top, 'host')]
  for (const folder of [`${home}/a`, `${home}/z/deep`, `${host}/deep`]) mkdirSync(folder, { recursive: true })
  for (const file of [`${home}/a/first`, `${home}/z/own`, `${home}/z/deep/own`]) writeFileSync(file, 'of the workspace')
  for (const file of [`${host}/secret`, `${host}/deep/secret`]) writeFileSync(file, 'of the host')
  return {
    home,
    text: (path) => readFileSync(path, 'utf8'),
    replaceByLink(name) {
      renameSync(join(home, name), join(top, 'moved'))
      symlinkSync(host, join(home, name))
    },
    remove: () => rmSync(top, { recursive: true, force: true }),
  }
}
