// `node scripts/build-cli.mjs [FOLDER]`: bundles the command line into one file without dependencies, as a package that
// `npm pack` and `npx` take. The default folder is dist/cli.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { root } from './lib/root.mjs'

const folder = resolve(process.argv[2] ?? join(root, 'dist/cli'))
const { name, version, description, license, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
mkdirSync(folder, { recursive: true })
await build({
  entryPoints: [join(root, 'bin/talaria.mjs')],
  outfile: join(folder, 'talaria.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  legalComments: 'none',
  logLevel: 'error',
})
const manifest = { name, version, description, license, type: 'module', bin: { talaria: 'talaria.mjs' }, engines }
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
console.log(folder)
