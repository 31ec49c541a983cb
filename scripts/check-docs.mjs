// Checks that every relative link and every path of this repository in the Markdown files leads somewhere.
// Run by `npm run check`. ADRs are snapshots and are not checked.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const pages = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true })
    .map((name) => join('docs', name))
    .filter((name) => name.endsWith('.md') && !name.startsWith(join('docs', 'adr'))),
  ...(existsSync('examples') ? readdirSync('examples', { recursive: true }) : [])
    .map((name) => join('examples', name))
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules')),
]
const offences = []
for (const page of pages) {
  const text = readFileSync(page, 'utf8')
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    const [path] = target.split('#')
    if (!path || /^[a-z]+:/.test(path)) continue
    if (!existsSync(normalize(join(dirname(page), decodeURIComponent(path))))) offences.push(`${page} -> ${target}`)
  }
  for (const [, path] of text.matchAll(/`((?:src|test|scripts|bench|docs|examples|migrations)\/[\w./-]+)`/g))
    if (!existsSync(path)) offences.push(`${page} names ${path}`)
}
for (const offence of offences) console.error(`dead link: ${offence}`)
console.log(`${pages.length} pages, ${offences.length} dead links`)
process.exitCode = offences.length ? 1 : 0
