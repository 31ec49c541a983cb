/** The dialog that chooses a model: by words, by what it can do, with its window and price, favourites first. */

import { useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { type Ability, abilities, findModels, findNearest, type ModelFacts } from '../../model/model-choice.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { formatCost, formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { nameOf, say } from './model-words.ts'
import { favourites, loadAllModels, toggleFavourite } from './all-models.ts'

export type ModelDialogProps = {
  /** Empty: the default. */
  readonly chosen: string
  /** The name of the default. */
  readonly automatic: string
  /** Without facts when no catalog has the model. */
  readonly onChoose: (id: string, facts?: ModelFacts) => void
  readonly onClose: () => void
}

const maxShown = 100

export function ModelDialog(props: ModelDialogProps) {
  const models = useLoad(loadAllModels, '')
  return (
    <Dialog title={say('chooseModel')} onClose={props.onClose}>
      <Panel of={models}>{(all) => <Choosing {...props} all={all} />}</Panel>
      <span class="row end">
        <IconButton icon="close" label={t('close')} onClick={props.onClose} />
      </span>
    </Dialog>
  )
}

type ChoosingProps = ModelDialogProps & { readonly all: readonly ModelFacts[] }

function Choosing({ all, chosen, automatic, onChoose, onClose }: ChoosingProps) {
  const [words, setWords] = useState('')
  const [wished, setWished] = useState<ReadonlySet<Ability>>(new Set())
  const list = useRef<HTMLUListElement>(null)
  const found = findModels(all, { words, abilities: wished, favourites: favourites.value })
  const choose = (id: string) => {
    onChoose(
      id,
      all.find((one) => one.id === id),
    )
    onClose()
  }
  return (
    <>
      <input
        type="search"
        aria-label={t('search')}
        placeholder={t('search')}
        autocomplete="off"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') moveFocus(list.current, 1, event)
          if (event.key === 'Enter' && found[0] && !event.isComposing) choose(found[0].id)
        }}
      />
      <AbilityFilter wished={wished} onChange={setWished} />
      <p class="unseen" role="status">
        {say('modelCount', { count: found.length })}
      </p>
      <ul
        class="model-list"
        ref={list}
        aria-label={t('models')}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
          if (step) moveFocus(list.current, step, event)
        }}
      >
        {!words && !wished.size && (
          <li>
            <button
              type="button"
              class="model-row"
              aria-current={chosen === '' || undefined}
              onClick={() => choose('')}
            >
              <span class="clip">{say('automaticModel', { model: automatic })}</span>
            </button>
          </li>
        )}
        {found.slice(0, maxShown).map((model) => (
          <ModelRow key={model.id} model={model} isChosen={model.id === chosen} onChoose={() => choose(model.id)} />
        ))}
      </ul>
      {found.length > maxShown && <p class="note">{say('moreModels', { count: found.length - maxShown })}</p>}
      {!found.length && <Unknown words={words.trim()} all={all} onChoose={choose} />}
    </>
  )
}

type FilterProps = { readonly wished: ReadonlySet<Ability>; readonly onChange: (wished: ReadonlySet<Ability>) => void }

const AbilityFilter = ({ wished, onChange }: FilterProps) => (
  <div class="row" role="group" aria-label={say('abilities')}>
    {abilities.map((name) => (
      <button
        key={name}
        type="button"
        class="button toggle"
        aria-pressed={wished.has(name)}
        onClick={() => {
          const next = new Set(wished)
          if (!next.delete(name)) next.add(name)
          onChange(next)
        }}
      >
        {nameOf('can', name)}
      </button>
    ))}
  </div>
)

type RowProps = { readonly model: ModelFacts; readonly isChosen: boolean; readonly onChoose: () => void }

const ModelRow = ({ model, isChosen, onChoose }: RowProps) => (
  <li>
    <button type="button" class="model-row" aria-current={isChosen || undefined} onClick={onChoose}>
      <span class="clip" dir="auto">
        {model.id}
      </span>
      <span class="note">{describeModel(model)}</span>
    </button>
    <IconButton
      icon="star"
      label={say('favourite', { model: model.id })}
      pressed={favourites.value.has(model.id)}
      onClick={() => toggleFavourite(model.id)}
    />
  </li>
)

type Described = Pick<ModelFacts, 'prices' | 'abilities'> & { readonly context_window: number | null }

/** The window, the prices, and what it can do. */
export const describeModel = ({ context_window: size, prices, abilities: able }: Described): string =>
  [
    size === null ? say('unknownWindow') : t('tokens', { count: formatNumber(size) }),
    formatPrices(prices),
    ...abilities.filter((name) => able[name]).map((name) => nameOf('can', name)),
  ].join(' · ')

/** USD per million tokens. */
export const formatPrices = (prices: ModelFacts['prices']): string =>
  prices ? `${formatCost(prices.input)} / ${formatCost(prices.output)}` : say('unknownPrice')

type UnknownProps = {
  readonly words: string
  readonly all: readonly ModelFacts[]
  readonly onChoose: (id: string) => void
}

/** The settings make a model known that is newer than the lists, so that the API does not refuse it. */
async function makeKnown(id: string): Promise<void> {
  if (can('write')) await api('PATCH', '/api/settings', { body: { models: { [id]: {} } } })
}

function Unknown({ words, all, onChoose }: UnknownProps) {
  const nearest = findNearest(all, words)
  return (
    <div class="list-of">
      <p>{say(nearest.length ? 'noModelBut' : 'noModel')}</p>
      {nearest.map((id) => (
        <Button key={id} onClick={() => onChoose(id)}>
          {id}
        </Button>
      ))}
      {/^[^/\s]+\/\S+$/.test(words) && (
        <Button onClick={() => makeKnown(words).then(() => onChoose(words))}>
          {say('useAnyway', { model: words })}
        </Button>
      )}
    </div>
  )
}

/** Goes through the models by arrow keys. */
function moveFocus(list: HTMLElement | null, step: number, event: KeyboardEvent): void {
  const rows = [...(list?.querySelectorAll<HTMLElement>('.model-row') ?? [])]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]
  if (!next) return
  event.preventDefault()
  next.focus()
}
