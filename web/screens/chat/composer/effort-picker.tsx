/** Chooses how much the model of the next messages thinks. Only models with levels load it. */

import { nameEffort } from '../../../words/efforts.ts'
import { t } from '../../../words/words.ts'
import { choiceOf, choose, listEfforts } from '../models.ts'

export function EffortPicker({ session: id }: { readonly session: string }) {
  const choice = choiceOf(id)
  return (
    <select
      aria-label={t('effort')}
      value={choice.effort ?? ''}
      onChange={({ currentTarget: { value: effort } }) => choose(id, { ...choice, effort })}
    >
      <option value="">{t('effort')}</option>
      {listEfforts(id).map((level) => (
        <option key={level} value={level}>
          {nameEffort(level)}
        </option>
      ))}
    </select>
  )
}
