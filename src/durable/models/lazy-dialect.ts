/** Loads a dialect's code with its first call: most sessions never use it, and it would slow down every start. */

import type { Dialect } from '../../agent/model/dialect.ts'
import { inlineAnthropic } from '../../backends/modules.ts'

function lazyDialect(load: () => Promise<Dialect>): Dialect {
  let loading: Promise<Dialect> | undefined
  return { call: async (...args) => (await (loading ??= load())).call(...args) }
}

export const anthropic = lazyDialect(async () => {
  const { createAnthropic } = await import('../../agent/providers/anthropic/anthropic.ts')
  return createAnthropic(await inlineAnthropic())
})

export const bedrock = lazyDialect(async () => {
  const { bedrockConverse } = await import('../../agent/providers/bedrock/bedrock.ts')
  return bedrockConverse((request) => fetch(request))
})
