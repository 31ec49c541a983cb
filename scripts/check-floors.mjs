// Checks the layers of src (docs/design/floors.md): imports only go down, rooms on one floor do not import each other,
// src/agent uses no platform API, and every export is imported somewhere. Run by `npm run check`.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

const floors = [
  ['src/agent/model'],
  ['src/agent/path-policy'],
  [
    'src/agent/policy',
    'src/agent/shell-policy',
    'src/agent/providers',
    'src/agent/prompt',
    'src/agent/recall',
    'src/agent/schedule',
  ],
  // Both read the tables of the providers (docs/adr/0017-routing-above-providers.md).
  ['src/agent/routing', 'src/agent/public-api'],
  ['src/agent/loop', 'src/tools', 'src/backends', 'src/channels', 'src/mcp', 'src/db'],
  ['src/durable/platform'],
  ['src/durable/storage'],
  ['src/durable/models'],
  ['src/durable/tenant'],
  ['src/durable/workspace'],
  ['src/durable/processes'],
  ['src/durable/turn'],
  ['src/durable/channels'],
  ['src/durable/events'],
  ['src/durable/session'],
  ['src/worker'],
]
const floorOf = (file) => floors.findIndex((rooms) => rooms.some((room) => file.startsWith(`${room}/`)))
const roomOf = (file) => floors.flat().find((room) => file.startsWith(`${room}/`))
const policyLists = 'src/agent/loop/policies.ts'
const vague = /(^|[/-])(utils?|helpers?|manager|service|base|common)([-.]|$)/

const maxFilesPerFolder = 25

const files = readdirSync('src', { recursive: true })
  .map((name) => join('src', name))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
const offences = []
for (const file of files) {
  const source = readFileSync(file, 'utf8')
  const room = roomOf(file)
  if (room === undefined) offences.push(`${file} is in no room`)
  if (vague.test(file)) offences.push(`${file} has a name that says nothing`)
  if (/import \{[^}]*\} from 'zod'|import z from 'zod'/.test(source))
    offences.push(`${file} -> { z } from zod (97 KiB instead of 29: import * as z)`)
  if (room?.startsWith('src/agent') && /from 'cloudflare:/.test(source)) offences.push(`${file} -> cloudflare:*`)
  for (const [, target] of source.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const to = relative('.', normalize(join(dirname(file), target)))
    if (!to.startsWith('src/')) continue
    if (roomOf(to) !== room && floorOf(to) >= floorOf(file)) offences.push(`${file} -> ${to}`)
  }
  // The loop calls policies only through its lists. Types of policies may be imported.
  if (room === 'src/agent/loop' && file !== policyLists)
    for (const [, target] of source.matchAll(/import (?!type )(?:\{[^}]*\}|[^'{]*) from '(\.\.\/policy\/[^']+)'/g))
      offences.push(`${file} -> ${target} (a policy is called from the lists in ${policyLists} only)`)
}

/** Collects the names imported from each file. `*` means all of them. */
const taken = new Map()
const sources = ['src', 'test', 'scripts', 'bench', 'sandbox'].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
)
for (const file of sources.filter((name) => /\.(ts|mjs|mts)$/.test(name) && !name.includes('/dist/'))) {
  const source = readFileSync(file, 'utf8')
  const take = (target, names) => {
    const from = normalize(join(dirname(file), target))
    taken.set(from, [...(taken.get(from) ?? []), ...names])
  }
  for (const [, names, target] of source.matchAll(/(?:import|export)\s(?:type\s)?\{([^}]*)\}\s*from\s*'(\.[^']+)'/g))
    take(
      target,
      names.split(',').map((name) => /^\s*(?:type\s)?(\w+)/.exec(name)?.[1]),
    )
  for (const [, star, late] of source.matchAll(/\*(?: as \w+)? from '(\.[^']+)'|import\('(\.[^']+)'\)/g))
    take(star ?? late, ['*'])
}
for (const [file, names] of taken) {
  // drizzle-kit reads every table of the schema to write migrations.
  if (!files.includes(file) || names.includes('*') || file === 'src/db/schema.ts') continue
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm))
    if (!names.includes(name)) offences.push(`${file} exports ${name}, which no other file imports`)
}
// The command line is a client of the HTTP API. It runs without the packages of the worker.
const clientFiles = ['bin', 'cli'].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
)
for (const file of clientFiles.filter((name) => name.endsWith('.mjs')))
  for (const [, target] of readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)) {
    const to = target.startsWith('.') ? relative('.', normalize(join(dirname(file), target))) : target
    if (!/^(node:|bin\/|cli\/)/.test(to)) offences.push(`${file} -> ${to} (only node:, bin and cli)`)
  }
for (const migration of readdirSync('migrations').filter((name) => name.endsWith('.sql'))) {
  const sql = readFileSync(join('migrations', migration), 'utf8')
  if (/DROP TABLE|__new_|REFERENCES/i.test(sql))
    offences.push(`migrations/${migration}: table rebuilds and foreign keys lose rows on D1`)
}
for (const folder of new Set(files.map((file) => dirname(file)))) {
  const count = files.filter((file) => dirname(file) === folder).length
  if (count > maxFilesPerFolder)
    offences.push(`${folder} has ${count} files (at most ${maxFilesPerFolder}: split it by idea)`)
}
for (const offence of offences) console.error(`not allowed: ${offence}`)
console.log(`${files.length} files, ${offences.length} offences`)
process.exitCode = offences.length ? 1 : 0
