// Checks what the Markdown files name: relative links with their sections, paths of this repository, routes, scripts of
// npm and commands of the command line. Run by `npm run check`. ADRs are snapshots and are not checked.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { commands } from '../cli/commands.mjs'
import { listHeadings } from './docs-site/markdown.mjs'
import { readNavigation } from './docs-site/pages.mjs'

const pages = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true })
    .map((name) => join('docs', name))
    .filter((name) => name.endsWith('.md') && !name.startsWith(join('docs', 'adr'))),
  ...(existsSync('examples') ? readdirSync('examples', { recursive: true }) : [])
    .map((name) => join('examples', name))
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules')),
]
const scripts = new Set(Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).scripts))

/** Parameters of paths have different names in code and docs. */
const toPattern = (path) => path.replace(/\{[^}]*\}+|:\w+(?:\{[^}]*\}+)?/g, '*')
const routes = new Set(
  readdirSync('src/worker', { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(join('src/worker', name), 'utf8').matchAll(/path: '(\/[^']*)'/g)])
    .map(([, path]) => toPattern(path)),
)

const anchors = new Map()
function hasAnchor(page, anchor) {
  if (!anchors.has(page)) {
    const text = readFileSync(page, 'utf8')
    anchors.set(page, new Set(listHeadings(text).map((heading) => heading.anchor)))
  }
  return anchors.get(page).has(anchor)
}

function* listDeadLinks(page, text) {
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^(?:[a-z]+:|\/)/.test(target)) continue
    const [path, anchor] = target.split('#')
    const file = path ? normalize(join(dirname(page), decodeURIComponent(path))) : page
    if (!existsSync(file)) yield `leads to ${target}`
    else if (anchor && file.endsWith('.md') && !hasAnchor(file, anchor)) yield `leads to a missing section: ${target}`
  }
}

function* listUnknownNames(text) {
  for (const [, path] of text.matchAll(/`((?:src|test|scripts|bench|docs|examples|migrations)\/[\w./-]+)`/g))
    if (!existsSync(path)) yield `names ${path}`
  for (const [, method, path] of text.matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/api\/[\w{}/.-]+)/g))
    if (!isRoute(path)) yield `names the route ${method} ${path}`
  for (const [, name] of text.matchAll(/\bnpm run ([a-z][\w:-]*)/g))
    if (!scripts.has(name)) yield `names npm run ${name}`
  for (const [, name] of text.matchAll(/(?:`|^|npx )talaria ([a-z]+)\b/gm))
    if (!Object.hasOwn(commands, name) && name !== 'help') yield `names the command talaria ${name}`
}

function isRoute(path) {
  const asked = toPattern(path).replace(/\/$/, '')
  const whole = [...routes]
  return routes.has(asked) || whole.some((route) => route.endsWith('/*') && asked.startsWith(route.slice(0, -1)))
}

const offences = pages.flatMap((page) => {
  const text = readFileSync(page, 'utf8')
  return [...listDeadLinks(page, text), ...listUnknownNames(text)].map((offence) => `${page} ${offence}`)
})
const linked = new Set([...readNavigation().guides, ...readNavigation().design].flatMap(({ pages: all }) => all))
for (const page of pages)
  if (page.startsWith('docs/') && !page.endsWith('README.md') && !linked.has(page))
    offences.push(`${page} is not in the navigation (docs/README.md)`)
for (const offence of offences) console.error(`not right: ${offence}`)
console.log(`${pages.length} pages, ${offences.length} offences`)
process.exitCode = offences.length ? 1 : 0
