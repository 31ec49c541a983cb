/** `talaria import hermes`: brings a Hermes home. */

import { createApi } from '../../bin/lib/api.mjs'
import { importHermes } from '../../bin/lib/import-hermes.mjs'
import { requireConfig } from '../config.mjs'
import { exits } from '../exits.mjs'

export async function run({ options, words: [, folder] }) {
  const wanted = { withBundled: options.bundled ?? false, isOverwriting: options.overwrite ?? false }
  const { failed } = await importHermes(folder, createApi(requireConfig()), { ...wanted, report: console.log })
  return failed ? exits.failed : exits.done
}
