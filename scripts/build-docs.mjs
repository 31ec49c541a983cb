// Builds the documentation site from docs/*.md into public/docs, with its search, and public/llms.txt. Every page is also
// served as Markdown. Skips the work when the output is newer than all inputs. Run by build-isolate.mjs, or alone.
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addressOf, listPages, readNavigation } from './docs-site/pages.mjs'
import { root } from './lib/root.mjs'

const output = join(root, 'public/docs')
const site = join(root, 'scripts/docs-site')
/** Files of the API reference in the same folder. */
const kept = ['page.css', 'page.js', 'reference.js']
/** Written last: a build that was interrupted is done again. */
const stamp = join(output, 'search.json')

const age = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
const listPictures = () => readdirSync(join(root, 'docs')).filter((name) => /\.(?:jpg|png|svg|yaml)$/.test(name))

const listInputs = () => [
  fileURLToPath(import.meta.url),
  ...readdirSync(site).map((name) => join(site, name)),
  ...['docs', 'docs/design', 'docs/adr', 'web/styles/tokens.css', 'package-lock.json'].map((name) => join(root, name)),
  ...[...listPages(), ...listPictures().map((name) => `docs/${name}`)].map((name) => join(root, name)),
]

export async function buildDocs({ force = false } = {}) {
  if (!force && age(stamp) > Math.max(...listInputs().map(age))) return
  const [{ renderMarkdown, plainHeading }, { buildSearchIndex }, { build }, { renderMermaidSVG }] = await Promise.all([
    import('./docs-site/markdown.mjs'),
    import('./docs-site/search-index.mjs'),
    import('esbuild'),
    import('beautiful-mermaid'),
  ])
  clear()
  const draw = (code) => drawDiagram(code, renderMermaidSVG)
  const navigation = readNavigation()
  const pages = listPages().map((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return { file, text, address: addressOf(file), title: plainHeading(/^# (.+)$/m.exec(text)?.[1] ?? file) }
  })
  const titles = new Map(pages.map(({ file, title }) => [file, title]))
  const { renderPage, renderIndex } = await import('./docs-site/page.mjs')
  const version = await buildAssets(build)
  for (const page of pages) {
    const content = renderMarkdown(page.file, page.text, { draw })
    write(`${pathOf(page.address)}.html`, renderPage(page, { content, navigation, titles, version }))
    write(`${pathOf(page.address)}.md`, page.text)
  }
  for (const name of listPictures()) copyFileSync(join(root, 'docs', name), join(output, name))
  writeFileSync(join(root, 'public/llms.txt'), renderIndex(pages, navigation, titles))
  // Decisions are history: a search for how it works now leaves them out.
  const searched = pages.filter(({ file }) => !file.startsWith('docs/adr/'))
  writeFileSync(stamp, JSON.stringify(buildSearchIndex(searched)))
}

/** `/docs/` is the file `index`. */
const pathOf = (address) => `${address.slice('/docs/'.length)}${address.endsWith('/') ? 'index' : ''}`

function clear() {
  mkdirSync(output, { recursive: true })
  for (const name of readdirSync(output)) if (!kept.includes(name)) rmSync(join(output, name), { recursive: true })
}

function write(path, text) {
  const file = join(output, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** The addresses of the style and the script end with the digest of their contents. */
async function buildAssets(build) {
  await build({
    absWorkingDir: root,
    entryPoints: ['scripts/docs-site/site.css', 'scripts/docs-site/site.js'],
    outdir: 'public/docs',
    bundle: true,
    minify: true,
    target: ['es2024', 'chrome123', 'firefox128', 'safari18'],
    logLevel: 'error',
  })
  const contents = ['site.css', 'site.js'].map((name) => readFileSync(join(output, name)))
  return createHash('sha256').update(Buffer.concat(contents)).digest('hex').slice(0, 8)
}

/** A picture, so that the policy of the page need not allow the styles inside. */
function drawDiagram(code, renderMermaidSVG) {
  try {
    const svg = renderMermaidSVG(code).replace(/@import url\([^)]*\);?/g, '')
    const name = `diagrams/${createHash('sha256').update(code).digest('hex').slice(0, 12)}.svg`
    write(name, svg)
    return `/docs/${name}`
  } catch {
    return undefined // The source of the diagram is shown instead.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildDocs({ force: true })
