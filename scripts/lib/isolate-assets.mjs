// Makes static assets of the code of isolates: the runtime would compile it with every start of a worker.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from './root.mjs'

/** Below the static assets of wrangler.toml. Files are named by their hash. */
export const assetFolder = join(root, 'public/isolate')

/** Fills `assets` with name and bytes of each file. */
export const codeAsAssets = (assets) => ({
  name: 'code-as-assets',
  setup(context) {
    context.onLoad({ filter: /\.isolate\.txt$/ }, ({ path }) => {
      const bytes = readFileSync(path)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const file = `${basename(path, '.isolate.txt')}-${sha256.slice(0, 16)}.txt`
      assets.set(file, bytes)
      return { contents: `export default ${JSON.stringify({ path: `/isolate/${file}`, sha256 })}`, loader: 'js' }
    })
  },
})

/** Writes the assets of a build and removes their earlier versions. Another build may need files of its own. */
export function writeAssets(assets) {
  mkdirSync(assetFolder, { recursive: true })
  const present = new Set(readdirSync(assetFolder))
  for (const [name, bytes] of assets) if (!present.has(name)) writeFileSync(join(assetFolder, name), bytes)
  const bases = new Set([...assets.keys()].map(baseOf))
  for (const name of present) if (bases.has(baseOf(name)) && !assets.has(name)) rmSync(join(assetFolder, name))
}

const baseOf = (name) => name.replace(/-[0-9a-f]{16}\.txt$/, '')
