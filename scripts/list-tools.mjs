// Writes src/tools/index.ts, which lists every *.tool.ts below src/tools in the order of their paths.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const room = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src/tools')
const files = readdirSync(room, { recursive: true })
  .filter((name) => name.endsWith('.tool.ts'))
  .toSorted()
const nameOf = (file) =>
  file
    .replace(/^.*\//, '')
    .replace(/\.tool\.ts$/, '')
    .replace(/-(\w)/g, (_, letter) => letter.toUpperCase())

const source = [
  '/** Lists all built-in tools. Written by `npm run tools`. A test compares it with the folder. */',
  '',
  "import type { Tool } from '#agent/core/tool.ts'",
  ...files.map((file) => `import ${nameOf(file)} from './${file}'`),
  '',
  'export const tools: readonly Tool[] = [',
  ...files.map((file) => `  ${nameOf(file)},`),
  ']',
  '',
].join('\n')

const target = join(room, 'index.ts')
if (readFileSync(target, { encoding: 'utf8', flag: 'a+' }) !== source) writeFileSync(target, source)
console.log(`${files.length} tools`)
