// The client of the OpenAI SDK without its resources (completions, files, assistants …): paths and bodies are ours, and
// the client is two fifths of the whole. Anthropic has such a client in its package; here it is made when it is bundled.
// What a file of resources exports stays there by name, so that another SDK either fits or does not build. Nor does it
// describe requests for a log that is off.
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

const describes = /export const formatRequestDetails = \(details\) => \{/

/**
 * The client describes every request and every answer, headers and addresses redacted, for a log that is off: a fifth
 * of a millisecond. Here it describes nothing; what it logs when somebody turns the log on has no details then.
 */
export function silent(source) {
  if (!describes.test(source)) throw new Error('The OpenAI SDK describes requests in another way than is known here.')
  return source.replace(describes, 'export const formatRequestDetails = () => undefined\nconst unused = (details) => {')
}

/** A plugin of esbuild. */
export const clientOnly = {
  name: 'client-only',
  setup: (context) => {
    const load = (filter, change) =>
      context.onLoad({ filter }, async ({ path }) => ({
        contents: change(await readFile(path, 'utf8')),
        loader: 'js',
      }))
    load(/[\\/]openai[\\/]resources[\\/].*\.mjs$/, hollow)
    load(/[\\/]openai[\\/]internal[\\/]utils[\\/]log\.mjs$/, silent)
  },
}
