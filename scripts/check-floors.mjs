// Checks the layers of src (docs/design/floors.md): imports only go down, rooms on one floor do not import each other,
// the folders inside the largest rooms have an order,
// src/agent uses no platform API, and the program itself uses every export. Run by `npm run check`.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

const floors = [
  ['src/agent/core'],
  ['src/agent/path-policy', 'src/agent/untrusted'],
  [
    'src/agent/policy',
    'src/agent/shell-policy',
    'src/agent/providers',
    'src/agent/prompt',
    'src/agent/memory',
    'src/agent/skills',
    'src/agent/schedule',
  ],
  // Both read the tables of the providers (docs/adr/0017-routing-above-providers.md).
  ['src/agent/routing', 'src/agent/public-api', 'src/agent/mcp', 'src/agent/plugins'],
  // Hashes, timeouts, addresses and the clock. Tools, backends and channels have them from here too.
  ['src/durable/platform'],
  ['src/agent/loop', 'src/tools', 'src/backends', 'src/channels', 'src/db'],
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
/**
 * The order inside a room, lowest first: folders, and the files of the room itself that folders import. The other files
 * of the room are above all of them.
 */
const orders = {
  'src/durable/session': [
    ['core'],
    ['views'],
    ['copies'],
    ['intake'],
    ['commands'],
    ['submit.ts'],
    ['inject.ts', 'release-held.ts', 'subagents', 'self-started'],
    ['rpc'],
  ],
  'src/durable/turn': [
    ['turn-session.ts', 'turn-authority.ts', 'turn-marks.ts', 'approval-policy.ts', 'loop-limits.ts'],
    ['media'],
    ['tools'],
    ['prompt', 'compression', 'recall'],
  ],
  'src/worker': [
    [
      'errors.ts',
      'schema-names.ts',
      'shapes.ts',
      'openapi/path-params.ts',
      'headers.ts',
      'answer-format.ts',
      'access.ts',
      'client-disconnect.ts',
      'idempotency.ts',
      'limits.ts',
      'sessions.ts',
      'limit-unknown-keys.ts',
    ],
    ['input'],
    ['chat', 'files', 'secrets', 'login', 'backup'],
    ['auth.ts', 'submit.ts', 'fork.ts', 'event-bridge.ts', 'batch-view.ts', 'tenant-export.ts'],
    ['route.ts'],
    ['media', 'responses', 'connections', 'batches'],
    ['openapi'],
    ['routes'],
    ['routing'],
  ],
}

/** The entry of a room's order that has the file: the file itself, or its folder. */
function entryOf(room, file) {
  const path = file.slice(room.length + 1)
  return orders[room].flat().includes(path) ? path : path.split('/')[0]
}

function levelOf(room, file) {
  const level = orders[room].findIndex((entries) => entries.includes(entryOf(room, file)))
  if (level >= 0) return level
  return file.slice(room.length + 1).includes('/') ? undefined : orders[room].length
}

/** Lists what a file does against the order of its room. Types may come from everywhere. */
function checkOrder(room, file, source) {
  const own = levelOf(room, file)
  if (own === undefined) return [`${file} is in a folder that the order of ${room} does not name`]
  return listValueImports(file, source).flatMap((to) => {
    if (roomOf(to) !== room || levelOf(room, to) < own || entryOf(room, file) === entryOf(room, to)) return []
    // Files that are on one level belong together.
    const isBeside = [file, to].every((one) => levelOf(room, one) === own && entryOf(room, one).endsWith('.ts'))
    return isBeside ? [] : [`${file} -> ${to} (the order inside ${room})`]
  })
}

const policyLists = 'src/agent/loop/policies.ts'
const addresses = 'src/durable/platform/addresses.ts'

/** Resolves a relative path or an import of the package (`#agent/…`). Undefined for packages and platform modules. */
function resolveImport(from, target) {
  if (target.startsWith('.')) return relative('.', normalize(join(dirname(from), target)))
  const [, alias, path] = /^#(\w+)\/(.+)$/.exec(target) ?? []
  return alias && (alias === 'test' ? `test/${path}` : `src/${alias}/${path}`)
}

/** The files that a file imports more than types from. */
function listValueImports(file, source) {
  const late = [...source.matchAll(/import\(\s*'([.#][^']+)'/g)].map(([, target]) => target)
  const early = [...source.matchAll(/^(?:import|export) (type )?(?:([^'"=]*?) from )?'([.#][^']+)'/gm)].flatMap(
    ([, isType, names = '', target]) => (isType || hasOnlyTypes(names) ? [] : [target]),
  )
  return [...early, ...late].flatMap((target) => resolveImport(file, target) ?? [])
}

const hasOnlyTypes = (names) =>
  /^\{[^}]*\}/.test(names) &&
  names
    .replace(/[{}]/g, '')
    .split(',')
    .map((name) => name.trim())
    .every((name) => !name || name.startsWith('type '))

const vague = /(^|[/-])(utils?|helpers?|manager|service|base|common)([-.]|$)/

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
  for (const [, target] of source.matchAll(/(?:from|import)\s*\(?\s*'([.#][^']+)'/g)) {
    const to = resolveImport(file, target)
    if (!to?.startsWith('src/')) continue
    if (roomOf(to) !== room && floorOf(to) >= floorOf(file)) offences.push(`${file} -> ${to}`)
    if (roomOf(to) !== room && target.startsWith('.')) offences.push(`${file} -> ${target} (leaves its room: #…)`)
  }
  if (orders[room]) offences.push(...checkOrder(room, file, source))
  if (/AbortSignal\.timeout\b/.test(source))
    offences.push(
      `${file} -> AbortSignal.timeout (its timer keeps an object in memory and is billed: timeout.ts of durable/platform)`,
    )
  // The address of an object or blob is the wall between tenants.
  if (file !== addresses && /`t\/\$|'t\/|getByName\(`|idFromName/.test(source))
    offences.push(`${file} builds an address of a tenant (${addresses} does)`)
  // The loop calls policies only through its lists. Types of policies may be imported.
  if (room === 'src/agent/loop' && file !== policyLists)
    for (const [, target] of source.matchAll(/import (?!type )(?:\{[^}]*\}|[^'{]*) from '(#agent\/policy\/[^']+)'/g))
      offences.push(`${file} -> ${target} (a policy is called from the lists in ${policyLists} only)`)
}

/** Exports that only tests use, with the reason. */
const testExports = new Map([
  ['src/channels/channels.ts addPlatforms', 'a platform of the tests shows that the core names none'],
  ['src/durable/platform/clock.ts replaceClock', 'tests replace the clock instead of waiting'],
])

/** Maps each file to the names that files of these folders import from it. `*` means all of them. */
function collectImports(folders) {
  const imports = new Map()
  const add = (from, target, names) => {
    const file = resolveImport(from, target)
    imports.set(file, [...(imports.get(file) ?? []), ...names])
  }
  for (const file of folders.flatMap(listSources)) {
    const source = readFileSync(file, 'utf8')
    for (const [, names, target] of source.matchAll(
      /(?:import|export)\s(?:type\s)?\{([^}]*)\}\s*from\s*'([.#][^']+)'/g,
    ))
      add(
        file,
        target,
        names.split(',').map((name) => /^\s*(?:type\s)?(\w+)/.exec(name)?.[1]),
      )
    for (const [, star, late] of source.matchAll(/\*(?: as \w+)? from '([.#][^']+)'|import\('([.#][^']+)'\)/g))
      add(file, star ?? late, ['*'])
  }
  return imports
}

const listSources = (folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((name) => /\.(ts|tsx|mjs|mts)$/.test(name) && !name.includes('/dist/'))

const program = collectImports(['src', 'scripts', 'bench', 'sandbox', 'web'])
const tests = collectImports(['test'])
const allowed = new Set(testExports.keys())
for (const file of files) {
  const [used, tested] = [program.get(file) ?? [], tests.get(file) ?? []]
  // drizzle-kit reads every table of the schema. A file without imports is the entry of a bundle.
  if (file === 'src/db/schema.ts' || used.includes('*') || (!used.length && !tested.length)) continue
  const source = readFileSync(file, 'utf8')
  for (const [, name] of source.matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm)) {
    if (used.includes(name)) continue
    if (!tested.includes(name) && !tested.includes('*'))
      offences.push(`${file} exports ${name}, which no other file imports`)
    // An export that its own file uses may be tested on its own.
    else if (source.match(new RegExp(`\\b${name}\\b`, 'g')).length === 1 && !allowed.delete(`${file} ${name}`))
      offences.push(`${file} exports ${name}, which only tests use`)
  }
}
for (const name of allowed) offences.push(`${name} is used: remove it from testExports`)

// The command line is a client of the HTTP API. It runs without the packages of the worker; cases of `talaria eval` that
// are YAML need their parser.
const clientFiles = ['bin', 'cli'].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
)
for (const file of clientFiles.filter((name) => name.endsWith('.mjs')))
  for (const [, target] of readFileSync(file, 'utf8').matchAll(
    /(?:^import [^'\n]*|^(?:export )?[{}*][^'\n]* from |\bimport\()'([^']+)'/gm,
  )) {
    const to = target.startsWith('.') ? relative('.', normalize(join(dirname(file), target))) : target
    if (!/^(node:|bin\/|cli\/|yaml$)/.test(to)) offences.push(`${file} -> ${to} (only node:, bin, cli and yaml)`)
  }
for (const migration of readdirSync('migrations').filter((name) => name.endsWith('.sql'))) {
  const sql = readFileSync(join('migrations', migration), 'utf8')
  if (/DROP TABLE|__new_|REFERENCES/i.test(sql))
    offences.push(`migrations/${migration}: table rebuilds and foreign keys lose rows on D1`)
}
for (const offence of offences) console.error(`not allowed: ${offence}`)
console.log(`${files.length} files, ${offences.length} offences`)
process.exitCode = offences.length ? 1 : 0
