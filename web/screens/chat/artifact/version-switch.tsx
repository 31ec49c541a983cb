/** Goes through versions: back, the number of the shown one, forward. */

import { IconButton } from '../../../parts/button.tsx'
import { t } from '../../../words/words.ts'

type Props = {
  /** From 0, the oldest one. */
  readonly at: number
  readonly count: number
  readonly onChoose: (at: number) => unknown
}

export const VersionSwitch = ({ at, count, onChoose }: Props) => (
  <span class="versions" role="group" aria-label={t('versions')}>
    <IconButton icon="left" label={t('olderVersion')} disabled={at === 0} onClick={() => onChoose(at - 1)} />
    <span role="status" aria-label={t('versionOf', { n: at + 1, count })}>
      {at + 1}/{count}
    </span>
    <IconButton icon="right" label={t('newerVersion')} disabled={at === count - 1} onClick={() => onChoose(at + 1)} />
  </span>
)
