/** A dialect whose code is run when it is first asked: most sessions never speak it, and starting up has to be quick. */

import type { Dialect } from '../../agent/model/dialect.ts'

function lazyDialect(load: () => Promise<Dialect>): Dialect {
  let loading: Promise<Dialect> | undefined
  return { call: async (...said) => (await (loading ??= load())).call(...said) }
}

export const anthropic = lazyDialect(
  async () => (await import('../../agent/providers/anthropic/anthropic.ts')).anthropic,
)

export const bedrock = lazyDialect(async () => {
  const { bedrockConverse } = await import('../../agent/providers/bedrock/bedrock.ts')
  return bedrockConverse((request) => fetch(request))
})
