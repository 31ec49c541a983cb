/** The empty chat: examples that work without any key. */

import { t } from '../../words/words.ts'
import { suggest } from './draft.ts'

const examples = ['example1', 'example2', 'example3'] as const

export const Welcome = () => (
  <div class="welcome grow">
    <h1>Talaria</h1>
    <p>{t('welcome')}</p>
    <ul>
      {examples.map((name) => (
        <li key={name}>
          <button type="button" class="button" onClick={() => suggest(t(name))}>
            {t(name)}
          </button>
        </li>
      ))}
    </ul>
  </div>
)
