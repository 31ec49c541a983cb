/** The keys of the page. */

import { Screen } from '../../parts/load.tsx'
import { t, type Word } from '../../words/words.ts'
import { screenKeys } from '../keys.ts'

const fixed: readonly (readonly [key: string, word: Word])[] = [
  ['Enter', 'send'],
  ['Shift + Enter', 'newLine'],
  ['Esc', 'stop'],
  ['Alt + ↑ · ↓', 'promptKeys'],
  ['1 – 4', 'decideKeys'],
  ['Ctrl / ⌘ K', 'palette'],
  ['j · k', 'nextOrLast'],
  ['e', 'archive'],
  ['#', 'delete'],
  ['Ctrl / ⌘ S', 'save'],
  ['?', 'shortcuts'],
]

export const KeyHelp = () => (
  <Screen title={t('shortcuts')}>
    <dl class="fields keys" tabIndex={0}>
      {[...fixed, ...Object.entries(screenKeys).map(([key, screen]) => [`g ${key}`, screen as Word] as const)].map(
        ([key, word]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(word)}</dd>
          </div>
        ),
      )}
    </dl>
  </Screen>
)
