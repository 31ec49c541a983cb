/** Tests what the bundle of the worker carries, with the binding LOADER and without it. */

import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { isLong, itInTurn } from '../support/long.ts'
import { bindsLoader, bundleWorker, listCore } from '../../scripts/lib/bundle-worker.mjs'
import { packagePlugins } from '../../scripts/lib/package-plugins.mjs'

const twins = ['virtual/isolate', 'pdf/inside', 'office/inside', 'web/page/inside', 'search/inside']

describe('a bundle', () => {
  it('of git, which the shell loads on use, does not carry just-bash, which would then begin with it', async () => {
    const { metafile } = await build({
      entryPoints: ['src/backends/virtual/isolate/git/git.ts'],
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'browser',
      external: ['node:*'],
      plugins: packagePlugins,
    })
    const inputs = Object.keys(metafile.inputs)
    expect(inputs.some((input) => input.includes('node_modules/isomorphic-git/'))).toBe(true)
    expect(inputs.filter((input) => input.includes('node_modules/just-bash/'))).toEqual([])
  })

  // The checks of `npm test` bundle the worker with the binding, and hold it to its size.
  itInTurn.each(isLong ? [false, true] : [false])(
    'has the code of isolates as modules only without the binding LOADER: %s',
    { timeout: 240_000 },
    async (hasLoader) => {
      const { metafile, outputFiles } = await bundleWorker({ hasLoader })
      const inputs = Object.keys(metafile.inputs)
      const carries = (name: string) => inputs.some((input) => input.includes(`node_modules/${name}/`))
      expect(['just-bash', 'isomorphic-git', 'unpdf', 'linkedom'].map(carries)).toEqual(Array(4).fill(!hasLoader))
      // Parts that are no twins are in both.
      expect(['openai', '@anthropic-ai/sdk', 'jose', 'unbash'].map(carries)).toEqual(Array(4).fill(true))
      // A deployment without a platform loads nothing of it.
      const core = listCore(metafile).flatMap((name) => Object.keys(metafile.outputs[name]?.inputs ?? {}))
      const channels = (among: readonly string[]) => among.filter((input) => input.startsWith('src/channels/'))
      expect(channels(inputs)).toContain('src/channels/webex/webex.ts')
      expect(channels(core)).toContain('src/channels/channels.ts')
      expect(channels(core).filter((input) => /^src\/channels\/(?!text\/)[^/]+\//.test(input))).toEqual([])
      const textOf = (name: string) => {
        const [path] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith(name)) ?? []
        return outputFiles.find((file) => path !== undefined && file.path.endsWith(path))?.text ?? ''
      }
      for (const twin of twins) {
        const text = textOf(`${twin}/in-process.ts`)
        expect(text.includes('This build needs the binding LOADER.'), twin).toBe(hasLoader)
        expect(text, twin).toMatch(/export\s?\{[^}]*(?:runShell|read|matchLines)\s?\}/)
      }
    },
  )

  it.each([
    ['[[worker_loaders]]\nbinding = "LOADER"', true],
    ["  binding = 'LOADER'", true],
    ['# [[worker_loaders]]\n# binding = "LOADER"', false],
    ['[ai]\nbinding = "AI"', false],
  ])('reads from %j that there is a binding: %s', (config, expected) => {
    expect(bindsLoader(config)).toBe(expected)
  })
})
