// Bundles the shell twice: as text for a Worker Loader isolate, and as a module of its own for where there is
// no loader. Both stay out of the core bundle. Does nothing when the outputs are newer than every input.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const room = join(root, 'src/backends/virtual')
const out = join(room, 'dist')
const targets = [
  { entry: 'isolate/entry.ts', file: 'bash.isolate.txt' },
  { entry: 'isolate/inline.ts', file: 'bash.inline.mjs' },
]

const inputs = [
  fileURLToPath(import.meta.url),
  join(root, 'node_modules/just-bash/package.json'),
  join(root, 'node_modules/diff/package.json'),
  ...readdirSync(room, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(room, name)),
]
const age = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
const newest = Math.max(...inputs.map(age))

// After `exit` or a limit just-bash reports the variables a script started with, and the working directory it had
// gone to would be lost. The state it ended in is in scope: report that one. Names are minified, so they are looked up.
function reportFinalState(source) {
  const start = source.search(/let \w+=\{\.\.\.this\.state,env:/)
  const end = source.indexOf('.deactivate()}', start)
  const state = /let (\w+)=\{\.\.\.this\.state,env:/.exec(source)?.[1]
  const copy = /env:(\w+)\(this\.ctx\.state\.env\)/.exec(source)?.[1]
  const scope = source.slice(start, end)
  const stale = /env:\w+\(this\.state\.env,\w+\.env\)/g
  if (start < 0 || end < 0 || !state || !copy || (scope.match(stale)?.length ?? 0) < 5)
    throw new Error('just-bash has changed: see reportFinalState in scripts/build-isolate.mjs')
  return source.slice(0, start) + scope.replaceAll(stale, `env:${copy}(${state}.env)`) + source.slice(end)
}

// An aborted script (a time-out) loses what it had printed; other errors carry it along. So let this one.
function keepAbortedOutput(source) {
  const rethrow = /throw (\w) instanceof \w+&&(\1\.prependOutput\((\w)\.stdout,\3\.stderr\),\1\}return\{\.\.\.\3\.build\()/
  if (!rethrow.test(source)) throw new Error('just-bash has changed: see keepAbortedOutput in scripts/build-isolate.mjs')
  return source.replace(rethrow, 'throw $1.prependOutput&&$2')
}

const keepsVariables = {
  name: 'keeps-variables',
  setup: (context) =>
    context.onLoad({ filter: /just-bash\/dist\/bundle\/browser\.js$/ }, ({ path }) => ({
      contents: keepAbortedOutput(reportFinalState(readFileSync(path, 'utf8'))),
      loader: 'js',
    })),
}

async function build() {
  const { build: bundle } = await import('esbuild')
  mkdirSync(out, { recursive: true })
  for (const { entry, file } of targets) {
    const result = await bundle({
      entryPoints: [join(room, entry)],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2023',
      conditions: ['workerd', 'worker', 'browser'],
      external: ['cloudflare:*', 'node:*'],
      minify: true,
      legalComments: 'none',
      logLevel: 'error',
      plugins: [keepsVariables],
    })
    const code = result.outputFiles[0].text
    // The first line names the contents, so that a loader never serves an older build under the same name.
    const version = createHash('sha256').update(code).digest('hex').slice(0, 16)
    writeFileSync(join(out, file), `// ${version}\n${code}`)
    console.log(`${file} ${Math.round(code.length / 1024)} KiB`)
  }
}

if (targets.some(({ file }) => age(join(out, file)) < newest)) await build()
