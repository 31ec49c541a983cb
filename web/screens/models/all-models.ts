/** Loads every model that can be used, and keeps which ones the person likes best, in this browser. */

import { signal } from '@preact/signals'
import { get } from '../../api/client.ts'
import type { ModelFacts } from '../../model/model-choice.ts'

type Listed = { readonly data: readonly ModelFacts[] }

/** The named models and one of each provider, the default first, then all that the catalogs have of these providers. */
export async function loadAllModels(): Promise<readonly ModelFacts[]> {
  const { data } = await get<Listed>('/api/settings/models?limit=200')
  const providers = [...new Set(data.map(({ provider }) => provider))].filter(
    (name) => name !== 'demo' && name !== 'moa',
  )
  const listed = await Promise.all(
    providers.map((one) => get<Listed>(`/api/settings/models?limit=1000&provider=${encodeURIComponent(one)}`)),
  )
  return [...new Map([...data, ...listed.flatMap((page) => page.data)].map((one) => [one.id, one])).values()]
}

const storageKey = 'talaria.models'

function read(): ReadonlySet<string> {
  try {
    return new Set(JSON.parse(localStorage.getItem(storageKey) ?? '[]') as readonly string[])
  } catch {
    return new Set() // Something else has written there.
  }
}

export const favourites = signal(read())

export function toggleFavourite(id: string): void {
  const next = new Set(favourites.value)
  if (!next.delete(id)) next.add(id)
  favourites.value = next
  localStorage.setItem(storageKey, JSON.stringify([...next]))
}
