/** Keeps the models that can be asked, and which one the next messages of each session ask for. */

import { signal } from '@preact/signals'
import { get } from '../../api/client.ts'
import { whenCreated } from './new-session.ts'
import { session } from './store.ts'

type Model = {
  readonly id: string
  readonly provider: string
  readonly efforts: readonly string[] | null
  readonly abilities: { readonly reasoning?: boolean | null }
}
/** `project`: of a new chat. */
export type Choice = { readonly model?: string; readonly effort?: string; readonly project?: string }

/** The default first. Undefined until they are loaded. */
export const models = signal<readonly Model[] | undefined>(undefined)
const choices = signal<Readonly<Record<string, Choice>>>({})

let loading: Promise<void> | undefined

/** Parts that need them at once share a request. */
export const loadModels = (): Promise<void> => (loading ??= readModels().finally(() => (loading = undefined)))

async function readModels(): Promise<void> {
  models.value = (await get<{ readonly data: readonly Model[] }>('/api/settings/models?limit=200')).data
}

/** A model that was chosen from all that the catalogs have, of which the list of usable ones has a few. */
export function addModel(model: Model): void {
  const known = models.value ?? []
  if (!known.some(({ id }) => id === model.id)) models.value = [...known, model]
}

export const choiceOf = (id: string): Choice => choices.value[id] ?? {}
export const choose = (id: string, choice: Choice): void => void (choices.value = { ...choices.value, [id]: choice })

whenCreated(({ id }) => {
  choose(id, choiceOf(''))
  choose('', {})
})

const commonEfforts = ['low', 'medium', 'high']

/** The levels of thinking of the model that the next message asks. Empty: it has none. */
export function listEfforts(id: string): readonly string[] {
  const name = choiceOf(id).model ?? session.value?.model
  const model = name ? models.value?.find((one) => one.id === name) : models.value?.[0]
  return model?.efforts ?? (model?.abilities.reasoning ? commonEfforts : [])
}
