/**
 * A plugin of Vite for the tests inside workerd: parts that the product loads on demand are loaded with the file that
 * names them. A dynamic import of Vite asks Node over a socket of the object that imports first. Others that import the
 * same part meanwhile would go on in that object, or never, if a test evicts it.
 */

import type { Plugin } from 'vitest/config'

const source = /\/src\/(?!.*node_modules).*\.ts$/
const onDemand = /(?<=await |=> |\?\? |\?\?= )import\(\s*'([^']+)'\s*\)/g

/** Writes `import('./x.ts')` as the promise of a static import. Types keep theirs. */
export function importStatically(code: string): string {
  const names = new Map<string, string>()
  const changed = code.replace(onDemand, (_all, path: string) => {
    const name = names.get(path) ?? `part_${names.size}`
    names.set(path, name)
    return `Promise.resolve(${name})`
  })
  return [changed, ...[...names].map(([path, name]) => `import * as ${name} from '${path}'`)].join('\n')
}

export const staticImports = (): Plugin => ({
  name: 'static-imports',
  enforce: 'pre',
  transform: {
    filter: { id: source },
    handler: (code) => importStatically(code),
  },
})
