/** Lists the vendors of web searches. The order is that in which they are used. */

import { brave } from './brave.ts'
import { exa, keylessExa } from './exa.ts'
import { firecrawl } from './firecrawl.ts'
import { keenable } from './keenable.ts'
import { keylessParallel, parallel } from './parallel.ts'
import { perplexity } from './perplexity.ts'
import { searxng } from './searxng.ts'
import type { KeylessVendor, SearchVendor } from './search-vendor.ts'
import { serper } from './serper.ts'
import { tavily } from './tavily.ts'

const vendors: readonly SearchVendor[] = [
  brave,
  tavily,
  exa,
  parallel,
  perplexity,
  firecrawl,
  keenable,
  serper,
  searxng,
]

export const findSearchVendor = (id: string): SearchVendor | undefined => vendors.find((one) => one.id === id)

export const keylessRing: readonly KeylessVendor[] = [keylessExa, keylessParallel, firecrawl, keenable, tavily]
