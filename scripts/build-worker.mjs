// `node scripts/build-worker.mjs [index|in-process|with-sandbox|with-native-sandbox|bench-rows]`: writes dist/worker or
// another folder of dist, which wrangler serves and deploys as it is (`no_bundle`). Skips the work when the output is newer
// than all sources.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { bindsLoader, bundleWorker } from './lib/bundle-worker.mjs'
import { root } from './lib/root.mjs'
import { assetFolder, writeAssets } from './lib/isolate-assets.mjs'
import { metafileOf, outputFolder, sourceOf } from './lib/worker-entries.mjs'

await import('./build-isolate.mjs')

const [entry = 'index'] = process.argv.slice(2)
const hasLoader = entry !== 'in-process' && bindsLoader()
const folder = outputFolder(entry)
/** Written last: a build that was interrupted is done again. */
const stamp = join(folder, '.built')

const sources = ['src', 'scripts/lib', 'scripts/build-worker.mjs', 'wrangler.toml', 'package-lock.json']

function age(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat?.mtimeMs ?? 0
  return readdirSync(path).reduce((newest, name) => Math.max(newest, age(join(path, name))), stat.mtimeMs)
}

const variant = hasLoader ? 'isolates' : 'in-process'

const isFresh = () =>
  existsSync(assetFolder) &&
  existsSync(metafileOf(entry)) &&
  age(stamp) > 0 &&
  readFileSync(stamp, 'utf8') === variant &&
  age(stamp) > Math.max(age(sourceOf(entry)), ...sources.map((path) => age(join(root, path))))

if (!isFresh()) {
  // esbuild has printed the errors.
  const { outputFiles, assets, metafile } = await bundleWorker({ entry, hasLoader }).catch(() => process.exit(1))
  writeAssets(assets)
  mkdirSync(folder, { recursive: true })
  for (const { path, contents } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, contents)
  }
  const current = new Set(outputFiles.map(({ path }) => basename(path)))
  for (const name of readdirSync(folder)) if (!current.has(name)) rmSync(join(folder, name), { recursive: true })
  writeFileSync(metafileOf(entry), JSON.stringify({ metafile, assets: [...assets.keys()] }))
  writeFileSync(stamp, variant)
  console.log(`${relative(root, folder)}: ${outputFiles.filter(({ path }) => path.endsWith('.js')).length} modules`)
}
