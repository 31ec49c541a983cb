// The client of the OpenAI SDK without its resources (completions, files, assistants …): paths and bodies are ours, and
// the client is two fifths of the whole. Anthropic has such a client in its package; here it is made when it is bundled.
// What a file of resources exports stays there by name, so that another SDK either fits or does not build.
import { readFile } from 'node:fs/promises'

const exported = /^export (?:class|const|let|var|function\*?|async function) (\w+)/gm
const passedOn = /^export (?:\*(?: as \w+)?|\{[^}]*\}) from ['"](.*)['"];?$/gm
/** What resources pass on from elsewhere would bring that along. */
const isResource = (path) => !/\/(?:lib|core|internal)\//.test(path)

/** The same names, with nothing behind them. */
export function hollow(source) {
  const names = [...source.matchAll(exported)].map(([, name]) => `export class ${name} {}`)
  const others = [...source.matchAll(passedOn)].filter(([, path]) => isResource(path)).map(([line]) => line)
  return ['export {}', ...names, ...others].join('\n')
}

/** A plugin of esbuild. */
export const clientOnly = {
  name: 'client-only',
  setup: (context) =>
    context.onLoad({ filter: /[\\/]openai[\\/]resources[\\/].*\.mjs$/ }, async ({ path }) => ({
      contents: hollow(await readFile(path, 'utf8')),
      loader: 'js',
    })),
}
