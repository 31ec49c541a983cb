/** The switch between the versions of a part of the conversation, where it begins or below its newest answer. */

import { can } from '../../api/me.ts'
import { VersionSwitch } from './artifact/version-switch.tsx'
import { timeline } from './store.ts'
import { chooseVersion, currentOf, versionsFrom } from './versions.ts'

/** `seq`: of the first message of the part. */
export function Versions({ seq }: { readonly seq: string }) {
  const group = versionsFrom(seq)
  if (!group || timeline.value.run !== undefined || !can('write')) return null
  return (
    <VersionSwitch at={currentOf(group)} count={group.versions.length} onChoose={(at) => chooseVersion(group, at)} />
  )
}
