/** Chooses the scopes of a key or a rule. */

import { t } from '../../words/words.ts'
import { nameScope } from './scopes.tsx'

type Props = {
  readonly held: readonly string[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

export const ScopeChoice = ({ held, chosen, onChange }: Props) => (
  <fieldset class="fieldset row">
    <legend>{t('scopes')}</legend>
    {held.map((scope) => (
      <label key={scope} class="check">
        <input
          type="checkbox"
          checked={chosen.includes(scope)}
          onChange={() => onChange(chosen.includes(scope) ? chosen.filter((one) => one !== scope) : [...chosen, scope])}
        />
        <span>
          {nameScope(scope)} <code class="note">{scope}</code>
        </span>
      </label>
    ))}
  </fieldset>
)
