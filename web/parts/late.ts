/** Loads a component when it is first wanted. Until then there is none. */

import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { showError } from './toast.ts'

export function useLate<Props>(
  load: () => Promise<FunctionComponent<Props>>,
  isWanted: boolean,
): FunctionComponent<Props> | undefined {
  const [loaded, setLoaded] = useState<{ readonly Part: FunctionComponent<Props> }>()
  useEffect(() => {
    if (!isWanted || loaded) return
    load()
      .then((Part) => setLoaded({ Part }))
      .catch(showError)
  }, [isWanted])
  return loaded?.Part
}
